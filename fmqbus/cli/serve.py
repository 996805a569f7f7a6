"""``fmqbus serve``: have calls of a method answered by a program."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from typing import Any

import attrs
import click
from twisted.internet.defer import Deferred, DeferredSemaphore

from fmqbus.cli.exits import EXIT_CODES, CommandFailed
from fmqbus.cli.programs import output_of
from fmqbus.cli.running import run
from fmqbus.cli.target import UMQ_URL_HELP, check_name, connected, require, split_url
from fmqbus.client.umq import Reply, UMQClient
from fmqbus.client.umq_words import decode_json
from fmqbus.client.url import DEFAULT_UMQ_URL
from fmqbus.errors import CallFailed, PeerError, Refused
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import PROTOCOL_ERROR


@attrs.frozen
class Order:
    """What is to be served, and how."""

    url: str
    method: str
    program: Sequence[str]
    jobs: int
    timeout: float


@click.command(
    "serve",
    epilog=EXIT_CODES,
    help="Answer each call of METHOD by a run of a program.\n\n"
    "The program gets the arguments as a JSON array, in one line on its standard input. What it writes is the result: "
    "JSON, or else text; octets that are no text are attached. If its exit code is not 0, the call fails with that "
    "code and with what it wrote to standard error. No shell is involved. Calls with attachments are refused.\n\n"
    f"{UMQ_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] METHOD")
@click.option("--exec", "program", required=True, metavar="CMD", help="The program, and its arguments.")
@click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="Programs at a time, at most.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, help="Seconds for each."
)
def command(words: tuple[str, ...], program: str, jobs: int, timeout: float) -> None:
    """Read the command line."""
    url, rest = split_url(words, DEFAULT_UMQ_URL)
    if len(rest) != 1:
        raise click.UsageError("give one method")
    require(url, "serve", "umq")
    check_name(rest[0], "method")
    order = Order(url, rest[0], _program(program), jobs, timeout)
    run(lambda reactor: serve(reactor, order))


def _program(text: str) -> Sequence[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}") from None
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise click.BadParameter(f"{text!r}: there is no such program")
    return [found, *words[1:]]


async def serve(reactor: Any, order: Order) -> None:
    """Serve until interrupted. Raises `CommandFailed` if the bus does not allow it."""
    # the bus gives us no more at a time; but that is the bus's word
    places = DeferredSemaphore(order.jobs)

    def answer(arguments: Sequence[Any], attachments: Sequence[Attachment]) -> Deferred[Reply]:
        if attachments:
            raise CallFailed("attachments are not served here", PROTOCOL_ERROR)
        return places.run(lambda: Deferred.fromCoroutine(_result(reactor, order, arguments)))

    async with connected(reactor, order.url, UMQClient) as client:
        try:
            await client.serve(order.method, answer, window=order.jobs)
        except Refused as error:
            raise CommandFailed(str(error)) from None
        click.echo(f"Serving {order.method}.", err=True)
        await Deferred()


async def _result(reactor: Any, order: Order, arguments: Sequence[Any]) -> Reply:
    said = json.dumps(arguments).encode() + b"\n"
    output = await output_of(reactor, order.program, said, order.timeout, DEFAULT_LIMITS.body_octets // 2)
    try:
        text = output.decode()
    except UnicodeDecodeError:
        return Reply(None, [output])
    try:
        return Reply(decode_json(output, object))
    except PeerError:
        return Reply(text.removesuffix("\n"))
