"""``fmqbus send``: put messages into a queue from an argument, a file, or the lines of standard input."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs
import click

from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.properties import property_option
from fmqbus.cli.running import run
from fmqbus.cli.sending import Batch, batch_options, read_batch, send_all
from fmqbus.cli.target import QUEUES_URL_HELP, check_name, client_of, connected, protocol_of, require, split_url
from fmqbus.client.url import DEFAULT_MICROMSG2_URL


@attrs.frozen
class Order:
    """What is to be sent, and how."""

    url: str
    queue: str
    batch: Batch
    #: What the client takes besides.
    options: Mapping[str, Any]


@click.command(
    "send",
    epilog=EXIT_CODES,
    help="Put PAYLOAD, or each line of standard input, into QUEUE.\n\n"
    "Ends when the bus has taken over every message: a durable one is on its disk then. If the connection goes, what "
    "was not acknowledged is sent again on the next one, and may so come twice; over UMQ that is a failure "
    f"instead.\n\n{QUEUES_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] QUEUE [PAYLOAD]")
@batch_options
@property_option
@click.option("--priority", type=click.IntRange(0, 9), default=0, help="9 is delivered before all others.")
@click.option("--ttl", type=click.FloatRange(min=0), help="Seconds; whom nobody has got by then is a dead letter.")
@click.option("--delay", type=click.FloatRange(min=0), default=0.0, help="Seconds; it is not delivered before.")
def command(
    words: tuple[str, ...],
    file: Any,
    count: int | None,
    rate: float | None,
    properties: Mapping[str, str],
    priority: int,
    ttl: float | None,
    delay: float,
) -> None:
    """Read the command line."""
    url, rest = split_url(words, DEFAULT_MICROMSG2_URL)
    if not rest:
        raise click.UsageError("give a queue")
    check_name(rest[0], "queue")
    require(url, "send", "micromsg2", "umq", "mtl")
    batch = read_batch(rest[1:], file, count, rate)
    options = {"properties": properties, "priority": priority, "time_to_live": ttl, "delay": delay}
    run(lambda reactor: send(reactor, Order(url, rest[0], batch, options)))


async def send(reactor: Any, order: Order) -> None:
    """Send, and end when the bus has taken over everything."""
    async with connected(reactor, order.url, client_of(order.url)) as client:
        if protocol_of(order.url) == "micromsg2":
            put = partial(client.send, f"queue/{order.queue}")
        else:
            put = partial(client.enqueue, order.queue)
        await send_all(reactor, client, order.batch, lambda payload: put(payload, **order.options), client.sync)
