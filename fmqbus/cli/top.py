"""``fmqbus top``: the busiest topics and the bus's own numbers, live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from twisted.internet.task import deferLater

from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.cli.target import FMQP_URL_HELP, check_topics, connected, require, split_url
from fmqbus.cli.text import json_text, printable
from fmqbus.cli.traffic import Sample, Traffic
from fmqbus.client.fmqp import FMQPClient

#: A wildcard stands for one level; so everything is a pattern for each depth.
EVERYTHING = tuple("/".join("*" * depth) for depth in range(1, 9))
INFORMATION = ("$/info/*", "$/info/*/*")


@click.command(
    "top",
    epilog=EXIT_CODES,
    help="Show the busiest topics under each PATTERN (all of up to eight levels) and the numbers that the bus tells "
    f"under $/info.\n\nPublishers that watch for demand do not notice.\n\n{FMQP_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] [PATTERN]...")
@click.option("--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds.")
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True, help="How many topics.")
@click.option("--once", is_flag=True, help="End after one interval.")
@click.option("--json", "as_json", is_flag=True, help="An object for each interval.")
def command(words: tuple[str, ...], interval: float, most: int, once: bool, as_json: bool) -> None:
    """Read the command line."""
    url, patterns = split_url(words)
    require(url, "top", "fmqp")
    check_topics(patterns)
    run(lambda reactor: top(reactor, url, patterns or EVERYTHING, interval, most, once, as_json))


async def top(
    reactor: Any, url: str, patterns: Sequence[str], interval: float, most: int, once: bool, as_json: bool
) -> None:
    """Show samples until interrupted, or one."""
    traffic = Traffic()
    async with connected(reactor, url, FMQPClient) as client:
        client.subscribe(*patterns, *INFORMATION, debug=True, callback=traffic.add)
        with _display(as_json, once) as show:
            while True:
                await deferLater(reactor, interval)
                show(traffic.sample(interval, most))
                if once:
                    return


@contextmanager
def _display(as_json: bool, once: bool) -> Iterator[Callable[[Sample], object]]:
    """What shows a sample: a live table on a terminal, plain lines elsewhere, JSON where asked for."""
    console = Console()
    if as_json:
        yield lambda sample: click.echo(json_text(sample.to_fields()))
    elif not console.is_terminal:
        yield lambda sample: click.echo(_lines(sample))
    elif once:
        yield lambda sample: console.print(_table(sample))
    else:
        with Live(console=console, auto_refresh=False, screen=True) as view:
            yield lambda sample: view.update(_table(sample), refresh=True)


def _lines(sample: Sample) -> str:
    numbers = [f"$/info/{printable(name.encode())} {value}" for name, value in sample.bus.items()]
    topics = [
        f"{printable(rate.topic.encode())} {rate.messages_per_second:.1f} msg/s {rate.octets_per_second:.0f} B/s"
        for rate in sample.topics
    ]
    return "\n".join([*numbers, *topics])


def _table(sample: Sample) -> Group:
    bus = Text("  ".join(f"{printable(name.encode())} {value:,}" for name, value in sample.bus.items()), style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("topic", no_wrap=True)
    for heading in ("messages/s", "octets/s", "messages", "octets"):
        table.add_column(heading, justify="right")
    for rate in sample.topics:
        table.add_row(
            Text(printable(rate.topic.encode())),
            f"{rate.messages_per_second:,.1f}",
            f"{rate.octets_per_second:,.0f}",
            f"{rate.messages:,}",
            f"{rate.octets:,}",
        )
    return Group(bus, table)
