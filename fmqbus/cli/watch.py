"""``fmqbus watch``: print who begins and ceases to listen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from fmqbus.cli.enough import show_until_enough
from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.cli.target import WATCHING_URL_HELP, check_topics, client_of, connected, require, split_url
from fmqbus.cli.text import json_text, printable
from fmqbus.client.events import DemandChange
from fmqbus.client.feed import MAX_QUEUE, Feed
from fmqbus.limits import DEFAULT_LIMITS


@click.command(
    "watch",
    epilog=EXIT_CODES,
    help="Print the number of subscribers to each pattern equivalent to PATTERN, now and whenever it changes.\n\n"
    "A line is the subscribers' own pattern and their number; 0 is that the last one has gone. Subscriptions for "
    f"debugging are not told.\n\n{WATCHING_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] PATTERN...")
@click.option("--count", type=click.IntRange(min=1), help="End after so many changes.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="End after so many seconds.")
@click.option("--json", "as_json", is_flag=True, help="An object for each change.")
def command(words: tuple[str, ...], count: int | None, timeout: float | None, as_json: bool) -> None:
    """Read the command line."""
    url, patterns = split_url(words)
    require(url, "watch", "fmqp", "umq")
    if not patterns:
        raise click.UsageError("give at least one pattern")
    check_topics(patterns)
    run(lambda reactor: watch(reactor, url, patterns, count, timeout, as_json))


async def watch(
    reactor: Any, url: str, patterns: Sequence[str], count: int | None, timeout: float | None, as_json: bool
) -> None:
    """Print changes until there have been enough, or time is up."""
    known: dict[str, int] = {}
    changes: Feed[DemandChange] = Feed(MAX_QUEUE, DEFAULT_LIMITS.outbox_octets)

    def changed(change: DemandChange) -> None:
        """Two of our patterns may be equivalent to the subscriber's; it is one change all the same."""
        if known.pop(change.pattern, 0) != change.subscribers:
            changes.extend([change])
        if change.subscribers:
            known[change.pattern] = change.subscribers

    async with connected(reactor, url, client_of(url)) as client:
        for pattern in patterns:
            client.demand(pattern, callback=changed)
        await show_until_enough(reactor, changes, lambda change: click.echo(_line(change, as_json)), count, timeout)


def _line(change: DemandChange, as_json: bool) -> str:
    if as_json:
        return json_text({"pattern": change.pattern, "subscribers": change.subscribers})
    return f"{printable(change.pattern.encode())} {change.subscribers}"
