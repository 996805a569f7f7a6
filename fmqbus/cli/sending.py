"""Which messages does a command send, and how do they leave until all are done with, or one has failed?"""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.cli.pacing import paced
from fmqbus.cli.stdin import LineReader
from fmqbus.client.reconnecting import ReconnectingClient
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.waiting import first_of

F = TypeVar("F", bound=Callable[..., object])


@attrs.frozen
class Batch:
    """One payload, some times; or the lines of standard input."""

    #: None: the lines.
    payload: bytes | None
    #: None: once, or all lines.
    count: int | None
    #: Messages a second, at most.
    rate: float | None

    @property
    def total(self) -> int | None:
        """How many there are, if that is known."""
        return self.count if self.payload is None else self.count or 1

    def payloads(self, reactor: Any) -> AsyncGenerator[bytes, None]:
        """Yield each when it is due."""
        return paced(reactor, self._payloads(reactor), self.rate)

    async def _payloads(self, reactor: Any) -> AsyncGenerator[bytes, None]:
        if self.payload is not None:
            for _ in range(self.count or 1):
                yield self.payload
            return
        numbers = itertools.count(1)
        async with aclosing(LineReader(reactor, sys.stdin.fileno(), DEFAULT_LIMITS.body_octets).lines()) as lines:
            async for line in lines:
                yield line
                if next(numbers) == self.count:
                    return


def batch_options(command: F) -> F:
    """Add the options, whose parameters `read_batch` takes."""
    for option in (
        click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="At most so many messages a second."),
        click.option(
            "--count", type=click.IntRange(min=1), help="How often; of standard input, at most so many lines."
        ),
        click.option("--file", type=click.File("rb"), help="The contents of a file as one message."),
    ):
        command = option(command)
    return command


def read_batch(words: Sequence[str], file: Any, count: int | None, rate: float | None) -> Batch:
    """Read the command line, of which `words` are the payload, if it is given."""
    if len(words) > 1:
        raise click.UsageError("give one payload, --file, or lines on standard input")
    if words and file is not None:
        raise click.UsageError("give either a payload or --file")
    payload = file.read() if file is not None else words[0].encode("utf-8", "surrogateescape") if words else None
    return Batch(payload, count, rate)


async def send_all(
    reactor: Any,
    client: ReconnectingClient,
    batch: Batch,
    send: Callable[[bytes], Deferred[None]],
    finish: Callable[[], Awaitable[None]],
) -> None:
    """Send each message as soon as there is room, then `finish`. Raises what any of them fails with."""
    failed: Deferred[None] = Deferred()

    def fail(reason: Failure) -> None:
        if not failed.called:
            failed.errback(reason)

    async def send_each() -> None:
        with _progress() as progress:
            bar = progress.add_task("sent", total=batch.total)
            async with aclosing(batch.payloads(reactor)) as payloads:
                async for payload in payloads:
                    await client.when_room()
                    send(payload).addCallbacks(lambda _: progress.advance(bar), fail)
            await finish()

    # in this order: all may be over at once, and a failure counts
    await first_of(failed, Deferred.fromCoroutine(send_each()))


def _progress() -> Progress:
    """A progress bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
