"""``fmqbus pub``: publish messages from an argument, a file, or the lines of standard input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import click
from twisted.internet.defer import Deferred, TimeoutError, maybeDeferred

from fmqbus.cli.exits import EXIT_CODES, ConnectionGone, TimedOut
from fmqbus.cli.properties import property_option
from fmqbus.cli.running import run
from fmqbus.cli.sending import Batch, batch_options, read_batch, send_all
from fmqbus.cli.target import URL_HELP, check_name, client_of, connected, require, split_url, synchronised
from fmqbus.waiting import first_of

#: Below it are the topics that end a bus: whoever publishes there may hear nothing of it but the end of the connection.
SIGNALS = "$/signals/"


@attrs.frozen
class Order:
    """What is to be published, and how."""

    url: str
    topic: str
    batch: Batch
    #: What `publish` takes besides.
    options: Mapping[str, Any]
    wait_demand: bool
    #: For how long, at most.
    timeout: float | None


@click.command(
    "pub",
    epilog=EXIT_CODES,
    help="Publish PAYLOAD, or each line of standard input, to TOPIC.\n\n"
    f"Ends when the bus has taken in everything.\n\n{URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] TOPIC [PAYLOAD]")
@batch_options
@click.option("--retain", is_flag=True, help="Let the bus keep the message for later subscribers.")
@property_option
@click.option("--will", is_flag=True, help="Stay; the bus publishes the message when this command ends.")
@click.option("--wait-demand", is_flag=True, help="Publish only once somebody listens.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds to wait for a listener.")
def command(
    words: tuple[str, ...],
    file: Any,
    count: int | None,
    rate: float | None,
    retain: bool,
    properties: Mapping[str, str],
    will: bool,
    wait_demand: bool,
    timeout: float | None,
) -> None:
    """Read the command line."""
    url, rest = split_url(words)
    if not rest:
        raise click.UsageError("give a topic")
    check_name(rest[0], "topic")
    batch = read_batch(rest[1:], file, count, rate)
    if timeout is not None and not wait_demand:
        raise click.UsageError("--timeout is for --wait-demand")
    if wait_demand:
        require(url, "--wait-demand", "fmqp", "umq")
    options: dict[str, Any] = {"retain": retain}
    if properties:
        require(url, "--property", "micromsg2", "umq", "mtl")
        options["properties"] = properties
    if will:
        require(url, "--will", "fmqp", "micromsg2", "umq")
        payload = batch.payload
        if payload is None or count or rate or wait_demand:
            raise click.UsageError("a will is one payload, or --file, and waits for nobody")
        run(lambda reactor: leave_will(reactor, url, rest[0], payload, options))
    order = Order(url, rest[0], batch, options, wait_demand, timeout)
    run(lambda reactor: publish(reactor, order))


async def leave_will(reactor: Any, url: str, topic: str, payload: bytes, options: Mapping[str, Any]) -> None:
    """Stay connected with a last will, until interrupted."""
    async with connected(reactor, url, client_of(url)) as client:
        await maybeDeferred(client.set_will, topic, payload, **options)
        await synchronised(reactor, client)
        click.echo("The will is set.", err=True)
        await Deferred()


async def publish(reactor: Any, order: Order) -> None:
    """Publish, and end when the bus has taken in everything. Raises `ConnectionGone` if some of it may be lost."""
    async with connected(reactor, order.url, client_of(order.url)) as client:
        if order.wait_demand:
            await _somebody_listens(reactor, client, order)
        publishing = Deferred.fromCoroutine(_publish_all(reactor, client, order))
        try:
            if await first_of(publishing, client.when_disconnected()) == 1:
                raise ConnectionGone("lost the connection, and perhaps some of the messages")
        except ConnectionGone:
            if not order.topic.startswith(SIGNALS):
                raise


async def _publish_all(reactor: Any, client: Any, order: Order) -> None:
    await send_all(
        reactor,
        client,
        order.batch,
        lambda payload: client.publish(order.topic, payload, **order.options),
        lambda: synchronised(reactor, client),
    )


async def _somebody_listens(reactor: Any, client: Any, order: Order) -> None:
    with client.demand(order.topic) as demand:
        wanted = demand.when_wanted()
        if order.timeout is not None:
            wanted.addTimeout(order.timeout, reactor)
        try:
            await wanted
        except TimeoutError:
            raise TimedOut(f"nobody listened to {order.topic} within {order.timeout:g} s") from None
