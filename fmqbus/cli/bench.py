"""``fmqbus bench``: a quick measurement of a running bus. The figures are the Python client's as much as the bus's."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import attrs
import click
from rich.console import Console
from rich.table import Table
from twisted.internet.defer import Deferred

from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.cli.target import FMQP_URL_HELP, connected, require, split_url, synchronised
from fmqbus.cli.text import json_text
from fmqbus.client.events import Message
from fmqbus.client.fmqp import FMQPClient

CAVEAT = (
    "One Python process publishes and receives here, and is slower than the bus: read these figures as a lower bound. "
    "docs/benchmarks.md has the bus's own, taken with a load generator in C."
)


@attrs.frozen
class Throughput:
    """How much arrived in how long."""

    name: str
    published: int
    delivered: int
    #: Those that should have been delivered, and were dropped on the way since the receiver was too slow.
    lost: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Deliveries a second."""
        return self.delivered / self.seconds


@attrs.frozen
class RoundTrips:
    """There and back between two clients, in microseconds."""

    name: str
    samples: int
    p50: float
    p90: float
    p99: float
    worst: float


@click.command(
    "bench", epilog=EXIT_CODES, help=f"Measure a running bus for a few seconds.\n\n{CAVEAT}\n\n{FMQP_URL_HELP}"
)
@click.argument("words", nargs=-1, metavar="[URL]")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="For each measurement.")
@click.option(
    "--size", type=click.IntRange(min=1, max=1 << 20), default=128, show_default=True, help="Octets a payload."
)
@click.option("--subscribers", type=click.IntRange(1, 1000), default=20, show_default=True, help="Of the fan-out.")
@click.option("--json", "as_json", is_flag=True, help="An object for each measurement.")
def command(words: tuple[str, ...], seconds: float, size: int, subscribers: int, as_json: bool) -> None:
    """Read the command line."""
    url, rest = split_url(words)
    if rest:
        raise click.UsageError(f"{rest[0]!r} is no URL")
    require(url, "bench", "fmqp")
    run(lambda reactor: bench(reactor, url, seconds, size, subscribers, as_json))


async def bench(reactor: Any, url: str, seconds: float, size: int, subscribers: int, as_json: bool) -> None:
    """Measure one thing after the other and print the results."""
    throughputs = [
        await measure_throughput(reactor, url, "1 to 1", seconds, size, 1),
        await measure_throughput(reactor, url, f"1 to {subscribers}", seconds, size, subscribers),
    ]
    trips = await measure_round_trips(reactor, url, seconds, size)
    if as_json:
        for throughput in throughputs:
            click.echo(json_text(attrs.asdict(throughput) | {"per_second": throughput.per_second}))
        click.echo(json_text(attrs.asdict(trips)))
    else:
        _print_tables(throughputs, trips, size)


async def measure_throughput(
    reactor: Any, url: str, name: str, seconds: float, size: int, subscribers: int
) -> Throughput:
    """Publish as fast as the connection takes it; measure until the last message has arrived."""
    topic, payload = _own_topic(), bytes(size)
    delivered = 0

    def count(message: Message) -> None:
        nonlocal delivered
        delivered += 1

    async with AsyncExitStack() as stack:
        publisher = await stack.enter_async_context(connected(reactor, url, FMQPClient))
        receivers = [await stack.enter_async_context(connected(reactor, url, FMQPClient)) for _ in range(subscribers)]
        for receiver in receivers:
            receiver.subscribe(topic, debug=True, callback=count)
            await synchronised(reactor, receiver)
        published, began = 0, reactor.seconds()
        while reactor.seconds() < began + seconds:
            await publisher.publish(topic, payload)
            published += 1
        for client in (publisher, *receivers):
            await synchronised(reactor, client)
        took = reactor.seconds() - began
    return Throughput(name, published, delivered, published * subscribers - delivered, took)


async def measure_round_trips(reactor: Any, url: str, seconds: float, size: int) -> RoundTrips:
    """One client asks, another answers, the next question follows the answer."""
    question, answer, payload = _own_topic(), _own_topic(), bytes(size)
    trips: list[float] = []
    async with connected(reactor, url, FMQPClient) as asking, connected(reactor, url, FMQPClient) as answering:
        with (
            answering.subscribe(question, debug=True) as questions,
            asking.subscribe(answer, debug=True) as answers,
        ):
            echoing = Deferred.fromCoroutine(_echo(questions, answering, answer))
            await synchronised(reactor, answering)
            await synchronised(reactor, asking)
            until = reactor.seconds() + seconds
            while (asked := reactor.seconds()) < until:
                await asking.publish(question, payload)
                await anext(answers)
                trips.append((reactor.seconds() - asked) * 1e6)
        await echoing
    cuts = statistics.quantiles(trips, n=100, method="inclusive")
    return RoundTrips("round trip", len(trips), cuts[49], cuts[89], cuts[98], max(trips))


async def _echo(questions: Any, client: FMQPClient, answer: str) -> None:
    async for question in questions:
        await client.publish(answer, question.payload)


def _own_topic() -> str:
    return f"fmqbus-bench/{uuid4().hex}"


def _print_tables(results: Sequence[Throughput], trips: RoundTrips, size: int) -> None:
    throughput = Table(title=f"throughput, payloads of {size} octets")
    for heading in ("clients", "published", "delivered", "lost", "deliveries/s"):
        throughput.add_column(heading, justify="right")
    for result in results:
        throughput.add_row(
            result.name,
            f"{result.published:,}",
            f"{result.delivered:,}",
            f"{result.lost:,}",
            f"{result.per_second:,.0f}",
        )
    latency = Table(title=f"question and answer, {trips.samples:,} times, microseconds")
    for heading in ("p50", "p90", "p99", "worst"):
        latency.add_column(heading, justify="right")
    latency.add_row(*(f"{value:,.0f}" for value in (trips.p50, trips.p90, trips.p99, trips.worst)))
    console = Console()
    console.print(throughput, latency, CAVEAT)
