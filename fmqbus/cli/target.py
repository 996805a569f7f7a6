"""Which bus does a command talk to, and how does it get there?"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import click
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.error import ConnectError, ConnectionClosed

from fmqbus import names
from fmqbus.cli.exits import CannotConnect, CommandFailed, TimedOut
from fmqbus.client.fmqp import FMQPClient
from fmqbus.client.url import DEFAULT_URL, InvalidURL, parse_url
from fmqbus.errors import InvalidName
from fmqbus.limits import DEFAULT_LIMITS

URL_HELP = (
    "URL is fmqp://HOST[:PORT], fmqps://HOST[:PORT][?ca=FILE&cert=FILE&key=FILE&insecure=1] or fmqp+unix:///PATH. "
    f"Without it: the environment's FMQBUS_URL, else {DEFAULT_URL}."
)

#: A command should end soon after it is interrupted, even if the bus does not read.
_LIMITS = attrs.evolve(DEFAULT_LIMITS, drain_seconds=2.0)

#: How long a bus may take to connect, and to answer that it has taken in everything.
ANSWER_SECONDS = 10.0


def split_url(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the URL and the other words. The first word is a URL if it has a ``://``."""
    if words and "://" in words[0]:
        return words[0], words[1:]
    return os.environ.get("FMQBUS_URL", DEFAULT_URL), words


def check_topics(topics: Sequence[str]) -> Sequence[str]:
    """Return the topics; raises `click.BadParameter` for one that FMQP does not allow."""
    for topic in topics:
        try:
            names.from_text(topic)
        except InvalidName as error:
            raise click.BadParameter(f"{topic!r} is no topic: {error}") from None
    return topics


@asynccontextmanager
async def connected(reactor: Any, url: str) -> AsyncIterator[FMQPClient]:
    """A client that is connected, and disconnects in good order.

    Raises `CannotConnect`, and `click.BadParameter` for a wrong URL.
    """
    try:
        endpoint = parse_url(url).endpoint(reactor)
    except InvalidURL as error:
        raise click.BadParameter(str(error)) from None
    client = FMQPClient(endpoint, reactor, limits=_LIMITS)
    client.startService()
    try:
        try:
            await Deferred.fromCoroutine(client.when_connected(attempts=1)).addTimeout(ANSWER_SECONDS, reactor)
        except CancelledError:
            raise  # interrupted
        except TimeoutError:
            raise CannotConnect(f"cannot connect to {url} within {ANSWER_SECONDS:g} s") from None
        except Exception as error:
            raise CannotConnect(f"cannot connect to {url}: {error}") from None
        telling = Deferred.fromCoroutine(_tell_interruptions(client))
        telling.addErrback(lambda reason: reason.trap(CancelledError) and None)
        try:
            yield client
        finally:
            telling.cancel()
    finally:
        await client.stopService()


async def _tell_interruptions(client: FMQPClient) -> None:
    while True:
        await client.when_disconnected()
        click.echo("The connection is lost; trying again.", err=True)
        await client.when_connected()
        click.echo("Connected again.", err=True)


async def synchronised(reactor: Any, client: FMQPClient) -> None:
    """Wait until the bus has taken in all that the client said. Raises `TimedOut`, or `CommandFailed` if it cannot."""
    try:
        await Deferred.fromCoroutine(client.sync()).addTimeout(ANSWER_SECONDS, reactor)
    except TimeoutError:
        raise TimedOut(f"the bus did not answer within {ANSWER_SECONDS:g} s; is fmqbus-sync/... allowed?") from None
    except (ConnectionClosed, ConnectError) as error:
        raise CommandFailed(f"lost the connection: {error}") from None
