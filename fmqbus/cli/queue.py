"""``fmqbus queue``: look at queues and into them, purge them, remove messages, send dead letters back.

Each command is a request to the bus's own service topic, over whatever protocol the URL names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.requests import ask, pages
from fmqbus.cli.rows import Row, json_option, plain, print_rows, utc
from fmqbus.cli.running import run
from fmqbus.cli.single_messages import check_numbers, split_numbers, tell_done
from fmqbus.cli.target import URL_HELP, check_name, client_of, connected, split_url
from fmqbus.cli.text import json_text, printable
from fmqbus.model import readable

#: What the list tells of a queue; `show` tells all.
_LISTED = ("name", "ready", "unsettled", "delayed", "octets", "consumers")
#: And `peek` of a message.
_PEEKED = ("number", "priority", "deliveries", "octets", "text")
_PEEKED_HELD = ("number", "priority", "deliveries", "octets", "since", "text")

#: Why something is not done to a message that is named.
HELD = "a consumer holds it"
NOT_SENT_BACK = "no dead letter, or there is no room where it came from"

_TOPIC = "$/manage/queues"


@click.group("queue", epilog=EXIT_CODES, help=f"Look at queues, and into them; purge, remove, requeue.\n\n{URL_HELP}")
def command() -> None:
    """The group."""


@command.command("list", epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL]")
@json_option
def list_(words: tuple[str, ...], as_json: bool) -> None:
    """Print all queues by name, with what they hold now.

    In a pipe: name, ready, unsettled, delayed, octets and consumers, parted by tabs.
    """
    url, rest = split_url(words)
    if rest:
        raise click.UsageError(f"{rest[0]!r} is no URL")

    async def main(reactor: Any) -> None:
        rows: list[Row] = []
        async with connected(reactor, url, client_of(url)) as client:
            async for answer in pages(reactor, client, _TOPIC, "queues", "name"):
                rows += answer["queues"]
                if answer["store_failure"] is not None and not answer["more"]:
                    click.echo(f"The store has failed: {printable(answer['store_failure'].encode())}", err=True)
        print_rows(rows, _LISTED, as_json)

    run(main)


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE")
@json_option
def show(words: tuple[str, ...], as_json: bool) -> None:
    """Print all numbers of QUEUE, what it has now and what has happened to it."""

    def tell(answer: Row) -> None:
        status = answer["queue"]
        if as_json:
            click.echo(json_text(status))
        else:
            for name, value in status.items():
                click.echo(f"{name} {plain(value)}")

    _run_request(words, tell, do="show")


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE")
@click.option("--count", type=click.IntRange(1, 100), default=10, show_default=True, help="At most so many.")
@click.option("--held", is_flag=True, help="Those that consumers hold, the ones first that they have had longest.")
@json_option
def peek(words: tuple[str, ...], count: int, held: bool, as_json: bool) -> None:
    """Print the messages of QUEUE that come next; nothing happens to them.

    In a pipe: number, priority, deliveries, octets, since when a consumer holds it if --held, and payload, parted by
    tabs. Of a long payload, the beginning.
    """

    def tell(answer: Row) -> None:
        rows = [{**message, "properties": readable(message["properties"])} for message in answer["messages"]]
        if held and not as_json:
            rows = [{**row, "since": utc(row["held_since"])} for row in rows]
        print_rows(rows, _PEEKED_HELD if held else _PEEKED, as_json)

    _run_request(words, tell, do="peek", most=count, held=held)


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE")
@json_option
def purge(words: tuple[str, ...], as_json: bool) -> None:
    """Forget all messages of QUEUE that no consumer holds, and print how many there were."""
    _run_request(words, lambda answer: click.echo(json_text(answer) if as_json else answer["purged"]), do="purge")


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE")
@click.option("--count", type=click.IntRange(min=1), help="Only the first so many.")
@click.option("--number", "numbers", multiple=True, metavar="NUMBER", help="Only this one; may be repeated.")
@json_option
def requeue(words: tuple[str, ...], count: int | None, numbers: tuple[str, ...], as_json: bool) -> None:
    """Send the dead letters in QUEUE back to where they died, and print how many there were.

    It fails if one that is named does not go.
    """
    if numbers and count is not None:
        raise click.UsageError("give either --count or --number")
    _run_request(
        words,
        lambda answer: tell_done(answer, "requeued", as_json, HELD, NOT_SENT_BACK),
        do="requeue",
        most=count,
        numbers=check_numbers(numbers) or None,
    )


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE NUMBER...")
@json_option
def remove(words: tuple[str, ...], as_json: bool) -> None:
    """Forget the messages of QUEUE that have these numbers, and print how many there were.

    It fails if one is not there, or a consumer holds it.
    """
    url, queue, numbers = split_numbers(words)
    if not numbers:
        raise click.UsageError("give the numbers of messages; peek prints them")
    _run(url, queue, lambda answer: tell_done(answer, "removed", as_json, HELD), do="remove", numbers=numbers)


def _run_request(words: Sequence[str], tell: Callable[[Row], object], **request: Any) -> None:
    """Ask the bus about one queue, and print what it answers."""
    url, rest = split_url(words)
    if len(rest) != 1:
        raise click.UsageError("give one queue")
    check_name(rest[0], "queue")
    _run(url, rest[0], tell, **request)


def _run(url: str, queue: str, tell: Callable[[Row], object], **request: Any) -> None:
    async def main(reactor: Any) -> None:
        async with connected(reactor, url, client_of(url)) as client:
            tell(await ask(reactor, client, _TOPIC, queue=queue, **request))

    run(main)
