"""``fmqbus call``: call a method, and print its result."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import attrs
import click
from twisted.internet.error import ConnectionLost

from fmqbus.calls import EXPIRED, FailedAttachment
from fmqbus.cli.exits import EXIT_CODES, CommandFailed, TimedOut
from fmqbus.cli.running import run
from fmqbus.cli.target import UMQ_URL_HELP, check_name, connected, require, split_url
from fmqbus.cli.text import json_text, printable
from fmqbus.client.umq import Reply, UMQClient
from fmqbus.client.umq_words import decode_json
from fmqbus.client.url import DEFAULT_UMQ_URL
from fmqbus.errors import CallFailed, PeerError
from fmqbus.protocols.umq.attachments import Attachment


@attrs.frozen
class Order:
    """What is to be called, and how."""

    url: str
    method: str
    arguments: Sequence[Any]
    attachments: Sequence[bytes]
    timeout: float
    as_json: bool


@click.command(
    "call",
    epilog=EXIT_CODES,
    help="Call METHOD, of the bus or of whoever serves it there, and print its result.\n\n"
    "An ARG that is JSON is sent as what it says, any other as text. A result that is text is printed as it is, any "
    "other as JSON; what is attached to it follows, a line for each. If the method fails, its code and its text are on "
    f"stderr.\n\n{UMQ_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] METHOD [ARG]...")
@click.option("--attach", "files", type=click.File("rb"), multiple=True, help="Attach a file; may be repeated.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True, help="Seconds to wait."
)
@click.option("--json", "as_json", is_flag=True, help="One object with the result and what is attached to it.")
def command(words: tuple[str, ...], files: Sequence[Any], timeout: float, as_json: bool) -> None:
    """Read the command line."""
    url, rest = split_url(words, DEFAULT_UMQ_URL)
    if not rest:
        raise click.UsageError("give a method")
    require(url, "call", "umq")
    check_name(rest[0], "method")
    attachments = [file.read() for file in files]
    order = Order(url, rest[0], [argument(word) for word in rest[1:]], attachments, timeout, as_json)
    run(lambda reactor: call(reactor, order))


def argument(word: str) -> Any:
    """What a word on the command line means: JSON, or else text."""
    try:
        return decode_json(word.encode("utf-8", "surrogateescape"), object)
    except PeerError:
        return word


async def call(reactor: Any, order: Order) -> None:
    """Call, and print what comes of it. Raises `CommandFailed` with the code and the text of a failure."""
    async with connected(reactor, order.url, UMQClient) as client:
        try:
            reply = await client.request(
                order.method, *order.arguments, attachments=order.attachments, timeout=order.timeout
            )
        except CallFailed as failure:
            if failure.reason == EXPIRED:
                raise TimedOut(str(failure)) from None
            raise CommandFailed(f"{failure.code} {printable(str(failure).encode())}") from None
        except ConnectionLost as error:
            raise CommandFailed(f"lost the connection: {error}") from None
    for line in _object(reply) if order.as_json else _lines(reply):
        click.echo(line)


def _object(reply: Reply) -> Sequence[str]:
    fields = {"result": reply.value}
    if reply.attachments:
        fields["attachments"] = [_attachment_fields(each) for each in reply.attachments]
    return [json_text(fields)]


def _attachment_fields(attachment: Attachment) -> dict[str, str]:
    if isinstance(attachment, FailedAttachment):
        return {"failed": attachment.reason}
    return {"base64": base64.b64encode(attachment).decode("ascii")}


def _lines(reply: Reply) -> Sequence[str]:
    value = reply.value
    result = printable(value.encode("utf-8", "backslashreplace")) if isinstance(value, str) else json.dumps(value)
    return [result, *(_attachment_line(each) for each in reply.attachments)]


def _attachment_line(attachment: Attachment) -> str:
    if isinstance(attachment, FailedAttachment):
        return f"(not attached: {printable(attachment.reason.encode('utf-8', 'backslashreplace'))})"
    return printable(attachment)
