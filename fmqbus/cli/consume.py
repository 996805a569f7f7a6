"""``fmqbus consume``: print the messages of a queue, a line for each, and accept them."""

from __future__ import annotations

import enum
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import attrs
import click
from twisted.internet.defer import Deferred

from fmqbus.cli.enough import show_until_enough
from fmqbus.cli.exits import EXIT_CODES, CommandFailed
from fmqbus.cli.forms import checked_form, form_options
from fmqbus.cli.running import run
from fmqbus.cli.stdin import LineReader
from fmqbus.cli.target import QUEUES_URL_HELP, check_name, client_of, connected, protocol_of, require, split_url
from fmqbus.cli.text import Form, delivery_line
from fmqbus.client.queue_message import Delivery
from fmqbus.client.url import DEFAULT_MICROMSG2_URL
from fmqbus.limits import KIB
from fmqbus.waiting import first_of


class Ack(enum.Enum):
    """When a message is accepted."""

    PRINTED = "printed"
    STDIN = "stdin"
    NEVER = "never"


@attrs.frozen
class Order:
    """What is to be printed, and how."""

    url: str
    queue: str
    form: Form
    ack: Ack
    window: int
    #: None: for ever.
    count: int | None
    timeout: float | None


@click.command(
    "consume",
    epilog=EXIT_CODES,
    help="Print the messages of QUEUE, and accept them.\n\n"
    "--ack says when: printed, as soon as a message has been written; stdin, one message, the oldest, for each line on "
    "standard input, so that a script can say when it is done; never: all come back when the command ends. What is not "
    "accepted goes back to the queue, marked as redelivered. To look without touching: fmqbus queue peek.\n\n"
    f"With --timeout alone the end is a success, with --count too it is 4.\n\n{QUEUES_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE")
@click.option("--ack", type=click.Choice([each.value for each in Ack]), default="printed", show_default=True)
@click.option(
    "--count", type=click.IntRange(min=1), help="End after so many messages; with --ack stdin, accepted ones."
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="End after so many seconds.")
@click.option(
    "--window",
    type=click.IntRange(1, 32_767),
    default=100,
    show_default=True,
    help="At most so many messages in hand that are not accepted.",
)
@form_options
def command(
    words: tuple[str, ...], ack: str, count: int | None, timeout: float | None, window: int, form: Form | None
) -> None:
    """Read the command line."""
    url, rest = split_url(words, DEFAULT_MICROMSG2_URL)
    if len(rest) != 1:
        raise click.UsageError("give one queue")
    check_name(rest[0], "queue")
    require(url, "consume", "micromsg2", "umq", "mtl")
    order = Order(url, rest[0], checked_form(form), Ack(ack), min(window, count or window), count, timeout)
    run(lambda reactor: consume(reactor, order))


async def consume(reactor: Any, order: Order) -> None:
    """Print messages until there have been enough, or time is up."""

    def show(delivery: Delivery) -> None:
        click.echo(delivery_line(delivery, order.form), nl=False)
        if order.ack is Ack.PRINTED:
            delivery.accept()

    window = {"window": order.window}
    # in MicroMsg2 it is that of the whole connection
    is_of_queue = protocol_of(order.url) != "micromsg2"
    async with connected(reactor, order.url, client_of(order.url), **({} if is_of_queue else window)) as client:
        with client.consume(order.queue, **(window if is_of_queue else {})) as deliveries:
            if order.ack is Ack.STDIN:
                await _until_told(reactor, client, deliveries, show, order)
            else:
                await show_until_enough(reactor, deliveries, show, order.count, order.timeout)


async def _until_told(
    reactor: Any,
    client: Any,
    deliveries: AsyncIterator[Delivery],
    show: Callable[[Delivery], None],
    order: Order,
) -> None:
    """Print what comes, and accept the oldest for each line, until standard input ends or all is done."""
    shown: deque[Delivery] = deque()

    async def show_all() -> None:
        async for delivery in deliveries:
            show(delivery)
            shown.append(delivery)

    def accept_oldest(line: bytes) -> None:
        if not shown:
            raise CommandFailed("a line on standard input, and no message that it could be for")
        shown.popleft().accept()

    async with aclosing(LineReader(reactor, sys.stdin.fileno(), KIB).lines()) as lines:
        told = Deferred.fromCoroutine(show_until_enough(reactor, lines, accept_oldest, order.count, order.timeout))
        showing = Deferred.fromCoroutine(show_all())
        if await first_of(told, showing, client.when_disconnected()) == 2:
            raise CommandFailed("lost the connection; what was not accepted comes again")
