"""``fmqbus job``: look at jobs in queues, retry those that have failed, cancel those that nobody runs yet.

Jobs are messages, so each command is a request to the bus's own topic for queues, over whatever protocol the URL names.
What a message says of a job is read in `fmqbus.cli.job_rows`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Protocol

import click

from fmqbus import names
from fmqbus.cli.exits import EXIT_CODES, CommandFailed
from fmqbus.cli.job_rows import FAILED, LISTED, RUNNING, WAITING, job_row, listed, told
from fmqbus.cli.requests import ask
from fmqbus.cli.rows import Row, json_option, plain, print_rows
from fmqbus.cli.running import run
from fmqbus.cli.single_messages import split_numbers, tell_done
from fmqbus.cli.target import URL_HELP, client_of, connected
from fmqbus.cli.text import json_text
from fmqbus.model import DEAD_LETTER_QUEUE
from fmqbus.protocols.emqp.job_message import EMQP_ID

_TOPIC = "$/manage/queues"

#: The most that the bus tells of payloads.
_OCTETS = 512 * 1024
_MOST = 100

#: Why something is not done to a job.
_RUNNING = "running, and eMQP has no word that stops a job; a worker's own time limit does"
_HELD = "a consumer holds it"
_NOT_FAILED = "it has not failed, or there is no room in the queue that it came from"


class _Ask(Protocol):
    async def __call__(self, **request: Any) -> Row:
        """Ask about queues."""


def _id_option(command: Callable[..., object]) -> Callable[..., object]:
    return click.option("--id", "message_id", help="The id that its client gave it, in place of a number.")(command)


@click.group("job", epilog=EXIT_CODES, help=f"Look at jobs in queues; retry or cancel them.\n\n{URL_HELP}")
def command() -> None:
    """The group."""


@command.command("list", epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE")
@click.option("--running", "only", flag_value=RUNNING, help="Only those that workers have.")
@click.option("--waiting", "only", flag_value=WAITING, help="Only those that wait, the next ones first.")
@click.option("--failed", "only", flag_value=FAILED, help="Those of QUEUE that are dead letters, or those in QUEUE.")
@click.option("--count", type=click.IntRange(1, _MOST), default=_MOST, show_default=True, help="At most so many.")
@json_option
def list_(words: tuple[str, ...], only: str | None, count: int, as_json: bool) -> None:
    """Print the jobs of QUEUE: those that run, then those that wait.

    In a pipe: number, state, id, job, arguments, attempts, since when a worker has it, and why it has failed, parted by
    tabs. A message that is no job is shown too.
    """
    url, queue, numbers = split_numbers(words)
    if numbers:
        raise click.UsageError("give one queue")

    async def main(reactor: Any) -> None:
        async with _asking(reactor, url) as ask_queues:
            if only == FAILED:
                rows = await _failed(ask_queues, queue, count)
            else:
                rows = await _present(ask_queues, queue, count, only)
        print_rows(rows if as_json else [listed(row) for row in rows], LISTED, as_json)

    run(main)


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE NUMBER")
@_id_option
@json_option
def show(words: tuple[str, ...], message_id: str | None, as_json: bool) -> None:
    """Print all that is known of a job in QUEUE."""
    url, queue, numbers = _split(words, message_id)

    async def main(reactor: Any) -> None:
        async with _asking(reactor, url) as ask_queues:
            rows = await _find(ask_queues, queue, numbers, message_id)
        for place, row in enumerate(rows):
            if as_json:
                click.echo(json_text(row))
                continue
            if place:
                click.echo()
            for name, value in told(row).items():
                click.echo(f"{name} {plain(value)}")

    run(main)


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] DEAD_QUEUE NUMBER...")
@_id_option
@json_option
def retry(words: tuple[str, ...], message_id: str | None, as_json: bool) -> None:
    """Send failed jobs, which are dead letters in DEAD_QUEUE, back to where they came from; print how many.

    It fails if one of them does not go. All of them go by fmqbus queue requeue.
    """
    _act(words, message_id, "requeue", lambda answer: tell_done(answer, "requeued", as_json, _HELD, _NOT_FAILED))


@command.command(epilog=EXIT_CODES)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE NUMBER...")
@_id_option
@json_option
def cancel(words: tuple[str, ...], message_id: str | None, as_json: bool) -> None:
    """Forget jobs of QUEUE that wait, and print how many.

    It fails if one of them is not there, or runs: the protocol cannot stop it then.
    """
    _act(words, message_id, "remove", lambda answer: tell_done(answer, "removed", as_json, _RUNNING))


def _split(words: Sequence[str], message_id: str | None) -> tuple[str, str, list[int]]:
    """Return the URL, the queue and the numbers, if there is no id. Raises `click.UsageError`."""
    url, queue, numbers = split_numbers(words)
    if bool(numbers) is (message_id is not None):
        raise click.UsageError("give either numbers of jobs, which fmqbus job list prints, or --id")
    return url, queue, numbers


def _act(words: Sequence[str], message_id: str | None, do: str, tell: Callable[[Row], object]) -> None:
    url, queue, numbers = _split(words, message_id)

    async def main(reactor: Any) -> None:
        async with _asking(reactor, url) as ask_queues:
            chosen = numbers
            if message_id is not None:
                chosen = [row["number"] for row in await _find(ask_queues, queue, (), message_id)]
                if len(chosen) > 1:
                    raise CommandFailed(f"several jobs have this id; say which: {' '.join(map(str, chosen))}")
            tell(await ask_queues(do=do, queue=queue, numbers=chosen))

    run(main)


@asynccontextmanager
async def _asking(reactor: Any, url: str) -> AsyncIterator[_Ask]:
    async with connected(reactor, url, client_of(url)) as client:
        yield partial(ask, reactor, client, _TOPIC)


async def _present(ask_queues: _Ask, queue: str, count: int, only: str | None) -> list[Row]:
    """The jobs of a queue that run, that wait, or both."""
    rows: list[Row] = []
    for held, state in ((True, RUNNING), (False, WAITING)):
        if only in (None, state) and len(rows) < count:
            most = count - len(rows)
            rows += await _rows(ask_queues, queue, do="peek", held=held, most=most)
    return rows


async def _failed(ask_queues: _Ask, queue: str, count: int) -> list[Row]:
    """The dead letters in this queue, and those that come from it."""
    rows = [row for row in await _present(ask_queues, queue, _MOST, None) if row["from"] is not None]
    settings = (await ask_queues(do="settings", queue=queue))["settings"]
    name = names.to_text(names.from_text(queue))
    if settings["dead_letter"] not in ("", name):
        wanted = {DEAD_LETTER_QUEUE: name}
        rows += await _rows(ask_queues, settings["dead_letter"], do="find", properties=wanted, most=count)
    return rows[:count]


async def _find(ask_queues: _Ask, queue: str, numbers: Sequence[int], message_id: str | None) -> list[Row]:
    """Some jobs of a queue. Raises `CommandFailed` if there is none of them."""
    if message_id is None:
        rows = await _rows(ask_queues, queue, do="find", numbers=numbers)
    else:
        rows = await _rows(ask_queues, queue, do="find", properties={EMQP_ID: message_id}, most=_MOST)
    if not rows:
        raise CommandFailed("there is no such job in this queue")
    return rows


async def _rows(ask_queues: _Ask, queue: str, **request: Any) -> list[Row]:
    answer = await ask_queues(queue=queue, octets=_OCTETS, **request)
    now = time.time()
    return [job_row(queue, message, now) for message in answer["messages"]]
