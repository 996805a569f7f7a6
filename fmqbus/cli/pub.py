"""``fmqbus pub``: publish messages from an argument, a file, or the lines of standard input."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from twisted.internet.defer import Deferred, TimeoutError

from fmqbus.cli.exits import EXIT_CODES, CommandFailed, TimedOut
from fmqbus.cli.pacing import paced
from fmqbus.cli.running import run
from fmqbus.cli.stdin import LineReader
from fmqbus.cli.target import URL_HELP, check_topics, connected, split_url, synchronised
from fmqbus.client.fmqp import FMQPClient
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.waiting import first_of


@attrs.frozen
class Order:
    """What is to be published, and how."""

    url: str
    topic: str
    #: None: the lines of standard input.
    payload: bytes | None
    #: None: once, or all lines.
    count: int | None
    rate: float | None
    retain: bool
    wait_demand: bool
    #: For how long, at most.
    timeout: float | None


@click.command(
    "pub",
    epilog=EXIT_CODES,
    help="Publish PAYLOAD, or each line of standard input, to TOPIC.\n\n"
    f"Ends when the bus has taken in everything.\n\n{URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] TOPIC [PAYLOAD]")
@click.option("--file", type=click.File("rb"), help="Publish the contents of a file as one message.")
@click.option("--count", type=click.IntRange(min=1), help="How often; of standard input, at most so many lines.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="At most so many messages a second.")
@click.option("--retain", is_flag=True, help="Let the bus keep the message for later subscribers.")
@click.option("--will", is_flag=True, help="Stay; the bus publishes the message when this command ends.")
@click.option("--wait-demand", is_flag=True, help="Publish only once somebody listens.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds to wait for a listener.")
def command(
    words: tuple[str, ...],
    file: Any,
    count: int | None,
    rate: float | None,
    retain: bool,
    will: bool,
    wait_demand: bool,
    timeout: float | None,
) -> None:
    """Read the command line."""
    url, rest = split_url(words)
    if not 1 <= len(rest) <= 2:
        raise click.UsageError("give a topic, and a payload, --file or lines on standard input")
    (topic,) = check_topics(rest[:1])
    if len(rest) == 2 and file is not None:
        raise click.UsageError("give either a payload or --file")
    if timeout is not None and not wait_demand:
        raise click.UsageError("--timeout is for --wait-demand")
    payload = file.read() if file is not None else rest[1].encode() if len(rest) == 2 else None
    if will:
        if payload is None or count or rate or wait_demand:
            raise click.UsageError("a will is one payload, or --file, and waits for nobody")
        run(lambda reactor: leave_will(reactor, url, topic, payload, retain))
    order = Order(url, topic, payload, count, rate, retain, wait_demand, timeout)
    run(lambda reactor: publish(reactor, order))


async def leave_will(reactor: Any, url: str, topic: str, payload: bytes, retain: bool) -> None:
    """Stay connected with a last will, until interrupted."""
    async with connected(reactor, url) as client:
        client.set_will(topic, payload, retain=retain)
        await synchronised(reactor, client)
        click.echo("The will is set.", err=True)
        await Deferred()


async def publish(reactor: Any, order: Order) -> None:
    """Publish, and end when the bus has taken in everything. Raises `CommandFailed` if some of it may be lost."""
    async with connected(reactor, order.url) as client:
        if order.wait_demand:
            await _somebody_listens(reactor, client, order)
        publishing = Deferred.fromCoroutine(_publish_all(reactor, client, order))
        if await first_of(publishing, client.when_disconnected()) == 1:
            raise CommandFailed("lost the connection, and perhaps some of the messages")


async def _publish_all(reactor: Any, client: FMQPClient, order: Order) -> None:
    with _progress() as progress:
        bar = progress.add_task("published", total=order.count if order.payload is None else order.count or 1)
        async with aclosing(paced(reactor, _payloads(reactor, order), order.rate)) as payloads:
            async for payload in payloads:
                await client.publish(order.topic, payload, retain=order.retain)
                progress.advance(bar)
    await synchronised(reactor, client)


async def _somebody_listens(reactor: Any, client: FMQPClient, order: Order) -> None:
    with client.demand(order.topic) as demand:
        wanted = demand.when_wanted()
        if order.timeout is not None:
            wanted.addTimeout(order.timeout, reactor)
        try:
            await wanted
        except TimeoutError:
            raise TimedOut(f"nobody listened to {order.topic} within {order.timeout:g} s") from None


async def _payloads(reactor: Any, order: Order) -> AsyncGenerator[bytes, None]:
    if order.payload is not None:
        for _ in range(order.count or 1):
            yield order.payload
        return
    numbers = itertools.count(1)
    async with aclosing(LineReader(reactor, sys.stdin.fileno(), DEFAULT_LIMITS.body_octets).lines()) as lines:
        async for line in lines:
            yield line
            if next(numbers) == order.count:
                return


def _progress() -> Progress:
    """A progress bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
