"""Which bus does a command talk to, in which protocol, and how does it get there?"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, TypeVar

import attrs
import click
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.error import ConnectError, ConnectionClosed

from fmqbus import names
from fmqbus.cli.exits import CannotConnect, ConnectionGone, TimedOut
from fmqbus.cli.login import login_options
from fmqbus.client.reconnecting import ReconnectingClient
from fmqbus.client.url import DEFAULT_MICROMSG2_URL, DEFAULT_UMQ_URL, DEFAULT_URL, InvalidURL, parse_url
from fmqbus.errors import InvalidName
from fmqbus.limits import DEFAULT_LIMITS


def _url_help(protocol: str, default: str) -> str:
    return (
        f"URL is {protocol}://HOST[:PORT], {protocol}s://HOST[:PORT][?ca=FILE&cert=FILE&key=FILE&insecure=1] or "
        f"{protocol}+unix:///PATH. Without it: the environment's FMQBUS_URL, else {default}."
    )


_UMQ_FORMS = "ws://HOST[:PORT][/PATH], wss://HOST[:PORT][/PATH][?...] or ws+unix:///PATH"
_MTL_FORM = (
    "mtl://[USER@]HOST[:PORT][/VIRTUAL-HOST][?profile=NAME&confirm=none&login=MECHANISM&password-file=FILE&"
    "server-key=FILE&key=FILE]"
)
_WHO = "Who logs in there tell FMQBUS_USER and FMQBUS_PASSWORD_FILE."

#: For commands of one protocol, of two, and of all.
FMQP_URL_HELP = _url_help("fmqp", DEFAULT_URL)
UMQ_URL_HELP = f"URL is {_UMQ_FORMS}. Without it: the environment's FMQBUS_URL, else {DEFAULT_UMQ_URL}. {_WHO}"
WATCHING_URL_HELP = f"{FMQP_URL_HELP} Where the bus speaks UMQ: {_UMQ_FORMS}."
QUEUES_URL_HELP = (
    f"{_url_help('micromsg2', DEFAULT_MICROMSG2_URL)} Where the bus speaks UMQ: {_UMQ_FORMS}. MTL: {_MTL_FORM}. {_WHO}"
)
URL_HELP = f"{WATCHING_URL_HELP} Where it speaks MicroMsg2, micromsg2 takes the place of fmqp. MTL: {_MTL_FORM}. {_WHO}"

#: A command should end soon after it is interrupted, even if the bus does not read.
LIMITS = attrs.evolve(DEFAULT_LIMITS, drain_seconds=2.0)

#: How long a bus may take to connect, and to answer that it has taken in everything.
ANSWER_SECONDS = 10.0

#: What URLs of a protocol begin with, unless with its own name.
_SCHEMES: Mapping[str, str] = {"umq": "ws"}

C = TypeVar("C", bound=ReconnectingClient)

#: By protocol: the module and the class. Only the one that is needed is imported, so each command starts fast.
_CLIENTS: Mapping[str, tuple[str, str]] = {
    "fmqp": ("fmqbus.client.fmqp", "FMQPClient"),
    "micromsg2": ("fmqbus.client.micromsg2", "MicroMsg2Client"),
    "umq": ("fmqbus.client.umq", "UMQClient"),
    "mtl": ("fmqbus.client.mtl", "MTLClient"),
}


def split_url(words: Sequence[str], default: str = DEFAULT_URL) -> tuple[str, Sequence[str]]:
    """Return the URL and the other words. The first word is a URL if it has a ``://``."""
    if words and "://" in words[0]:
        return words[0], words[1:]
    return os.environ.get("FMQBUS_URL", default), words


def protocol_of(url: str) -> str:
    """Return what is spoken at a URL; raises `click.BadParameter` for a wrong one."""
    try:
        return parse_url(url).protocol
    except InvalidURL as error:
        raise click.BadParameter(str(error)) from None


def require(url: str, what: str, *protocols: str) -> None:
    """Raise `click.UsageError` where what was asked for cannot be said at this URL."""
    if protocol_of(url) not in protocols:
        *others, last = (f"{_SCHEMES.get(each, each)}://" for each in protocols)
        schemes = f"{', '.join(others)} and {last}" if others else last
        raise click.UsageError(f"{what} is for {schemes} only: what {url} speaks has no word for it")


def client_of(url: str) -> Any:
    """Return the class of the client for a URL; raises `click.BadParameter` for a wrong one."""
    module, name = _CLIENTS[protocol_of(url)]
    return getattr(import_module(module), name)


def check_topics(topics: Sequence[str]) -> Sequence[str]:
    """Return the topics; raises `click.BadParameter` for one that the bus does not allow."""
    for topic in topics:
        check_name(topic, "topic")
    return topics


def check_name(name: str, kind: str) -> None:
    """Raise `click.BadParameter` for what cannot be the name of a topic or a queue."""
    try:
        names.from_text(name)
    except InvalidName as error:
        raise click.BadParameter(f"{name!r} is no {kind}: {error}") from None


@asynccontextmanager
async def connected(reactor: Any, url: str, make: Callable[..., C], **options: Any) -> AsyncIterator[C]:
    """A client of this kind, with these options, that is connected, and disconnects in good order. It is who the
    environment says (`fmqbus.cli.login`).

    Raises `CannotConnect`, and `click.BadParameter` for a wrong URL.
    """
    try:
        client = make(url, reactor, limits=LIMITS, **login_options(url), **options)
    except InvalidURL as error:
        raise click.BadParameter(str(error)) from None
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


async def _tell_interruptions(client: ReconnectingClient) -> None:
    while True:
        await client.when_disconnected()
        click.echo("The connection is lost; trying again.", err=True)
        await client.when_connected()
        click.echo("Connected again.", err=True)


async def synchronised(reactor: Any, client: ReconnectingClient) -> None:
    """Wait until the bus has taken in all that the client said. Raises `TimedOut`, or `ConnectionGone` if it goes."""
    try:
        await Deferred.fromCoroutine(client.sync()).addTimeout(ANSWER_SECONDS, reactor)
    except TimeoutError:
        raise TimedOut(
            f"the bus did not answer within {ANSWER_SECONDS:g} s. FMQP tells nobody what is refused: look whether this "
            "client may publish there, and publish and subscribe to fmqbus-sync/**"
        ) from None
    except (ConnectionClosed, ConnectError) as error:
        raise ConnectionGone(f"lost the connection: {error}") from None
