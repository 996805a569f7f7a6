"""``fmqbus schedule``: have the bus put messages into queues at certain times, and look after what is scheduled.

Each command is a request to the bus's own service topic, over whatever protocol the URL names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.properties import property_option
from fmqbus.cli.requests import ask, pages
from fmqbus.cli.rows import Row, json_option, plain, print_rows
from fmqbus.cli.running import run
from fmqbus.cli.schedule_words import message_of, read_job, shown, told, when_options
from fmqbus.cli.target import URL_HELP, check_name, client_of, connected, split_url
from fmqbus.cli.text import json_text, printable

_TOPIC = "$/manage/schedules"

#: What the list tells of a schedule; `show` tells all.
_LISTED = ("key", "where", "when", "next", "left", "runs", "failed")


@click.group(
    "schedule", epilog=EXIT_CODES, help=f"Send messages at certain times: add, list, edit and remove.\n\n{URL_HELP}"
)
def command() -> None:
    """The group."""


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE [PAYLOAD]")
@click.option("--topic", "is_topic", is_flag=True, help="QUEUE is a topic: publish there instead.")
@click.option("--job", metavar="MODULE:FUNCTION", help="In place of a payload: a job, as eMQP workers run it.")
@click.option("--args", default="[]", metavar="JSON", help="Of the job: a list.")
@click.option("--kwargs", default="{}", metavar="JSON", help="Of the job: an object.")
@click.option("--key", help="By which it is known; there is one of each. Else one is made up, or is that of the job.")
@when_options
@click.option("--nohaste", is_flag=True, help="The first run is at its first time, not now.")
@property_option
@click.option("--priority", type=click.IntRange(0, 9), default=0, help="9 is delivered before all others.")
@click.option("--ttl", "time_to_live", type=click.FloatRange(min=0), help="Seconds until a message is a dead letter.")
@click.option("--retain", is_flag=True, help="Of a topic: keep the message for later subscribers.")
@json_option
def add(
    words: tuple[str, ...],
    is_topic: bool,
    job: str | None,
    args: str,
    kwargs: str,
    key: str | None,
    nohaste: bool,
    properties: Mapping[str, str],
    as_json: bool,
    **options: Any,
) -> None:
    """Have PAYLOAD put into QUEUE now, and then at each interval or as cron says; print the key.

    It takes the place of what was scheduled under the key before.
    """
    url, rest = split_url(words)
    if not 1 <= len(rest) <= 2 or (len(rest) == 2) is (job is not None):
        raise click.UsageError("give a queue and a payload, or a queue and --job")
    if (options["every"] is None) is (options["cron"] is None):
        raise click.UsageError("give either --every or --cron")
    check_name(rest[0], "topic" if is_topic else "queue")
    payload, usual_key = message_of(rest[1]) if job is None else read_job(job, args, kwargs)
    request = {
        "topic" if is_topic else "queue": rest[0],
        **payload,
        "key": key or usual_key,
        "at_once": not nohaste,
        "properties": properties,
        **{name: value for name, value in options.items() if value is not None},
    }
    _run_request(url, lambda answer: click.echo(json_text(answer) if as_json else answer["added"]), "add", request)


@command.command("list", epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] [QUEUE]")
@click.option("--topic", "is_topic", is_flag=True, help="QUEUE is a topic.")
@json_option
def list_(words: tuple[str, ...], is_topic: bool, as_json: bool) -> None:
    """Print all schedules by key, or those for QUEUE.

    In a pipe: key, queue or topic, interval or cron expression, next time, runs left, and of those since the bus began
    how many there were and how many came to nothing; parted by tabs.
    """
    url, rest = split_url(words)
    if len(rest) > 1:
        raise click.UsageError(f"{rest[0]!r} is no URL")
    only = {"topic" if is_topic else "queue": rest[0]} if rest else {}

    async def main(reactor: Any) -> None:
        rows: list[Row] = []
        async with connected(reactor, url, client_of(url)) as client:
            async for answer in pages(reactor, client, _TOPIC, "schedules", "key", **only):
                rows += answer["schedules"]
                if answer["store_failure"] is not None and not answer["more"]:
                    click.echo(f"The store has failed: {printable(answer['store_failure'].encode())}", err=True)
        print_rows(rows if as_json else [shown(row) for row in rows], _LISTED, as_json)

    run(main)


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] KEY")
@json_option
def show(words: tuple[str, ...], as_json: bool) -> None:
    """Print all that is known of a schedule."""

    def tell(answer: Row) -> None:
        if as_json:
            click.echo(json_text(answer["schedule"]))
        else:
            for name, value in told(answer["schedule"]).items():
                click.echo(f"{name} {plain(value)}")

    _run_for_key(words, tell, "show", {})


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] KEY")
@when_options
@click.option("--pause/--resume", "paused", default=None, help="Hold it, or go on; what was due meanwhile is skipped.")
def edit(words: tuple[str, ...], **options: Any) -> None:
    """Change when a schedule runs, how often it still does, or what happens where runs are missed."""
    changes = {name: value for name, value in options.items() if value is not None}
    if not changes:
        raise click.UsageError("say what is to be otherwise")
    _run_for_key(words, lambda answer: None, "edit", changes)


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] KEY")
def remove(words: tuple[str, ...]) -> None:
    """End a schedule. What it has put into its queue stays there."""
    _run_for_key(words, lambda answer: None, "remove", {})


@command.command("run", epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] KEY")
def run_(words: tuple[str, ...]) -> None:
    """Do now what a schedule does, beside its times; it does not count."""
    _run_for_key(words, lambda answer: None, "run", {})


def _run_for_key(words: Sequence[str], tell: Callable[[Row], object], do: str, request: Mapping[str, Any]) -> None:
    url, rest = split_url(words)
    if len(rest) != 1:
        raise click.UsageError("give one key")
    _run_request(url, tell, do, {"key": rest[0], **request})


def _run_request(url: str, tell: Callable[[Row], object], do: str, request: Mapping[str, Any]) -> None:
    """Ask the bus, and print what it answers."""

    async def main(reactor: Any) -> None:
        async with connected(reactor, url, client_of(url)) as client:
            tell(await ask(reactor, client, _TOPIC, do=do, **request))

    run(main)
