"""A protocol over real sockets that reports what happens to it, for the tests of carriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import DeferredQueue
from twisted.internet.protocol import Factory, Protocol
from zope.interface import implementer

from fmqbus.interfaces import IConnection
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts
from fmqbus.transports.carriers import carrier_for, haproxy, ssl, systemd, tcp, tcp6, units, unix
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.listener import Listener
from tests.transports.memory import QuietProtocol

TRANSPORTS = (tcp, tcp6, ssl, unix, systemd, haproxy, units)


@implementer(IConnection)
class Link(Protocol):
    """Tells what it gets, echoes it, and ends as told."""

    octets_received = 0
    is_kept_waiting = False
    is_admitted = False
    facts: PeerFacts

    def __init__(self, factory: Links) -> None:
        self.links = factory
        self.received: DeferredQueue[bytes] = DeferredQueue()
        self.lost: DeferredQueue[Any] = DeferredQueue()

    def connectionMade(self) -> None:
        self.facts = self.links.listener.peer_facts(self.transport)
        self.is_admitted = self.links.listener.opened(self, self.facts)
        if self.is_admitted:
            self.links.made.put(self)
        else:
            self.abort("one too many")

    def dataReceived(self, data: bytes) -> None:
        self.octets_received += len(data)
        self.received.put(data)
        self.transport.write(data)  # type: ignore[union-attr]

    def connectionLost(self, reason: Any = None) -> None:
        if self.is_admitted:
            self.links.listener.closed(self, self.facts)
        self.lost.put(reason.type)

    def lose(self, reason: str) -> None:
        self.transport.loseConnection()  # type: ignore[union-attr]

    def abort(self, reason: str) -> None:
        self.transport.abortConnection()  # type: ignore[union-attr]


class Links(Factory):
    """Makes links, and says when one is admitted."""

    noisy = False
    listener: Listener

    def __init__(self) -> None:
        self.made: DeferredQueue[Link] = DeferredQueue()
        #: How many connections were accepted, admitted or not.
        self.built = 0

    def buildProtocol(self, addr: Any) -> Link:
        self.built += 1
        return Link(self)


def listen(reactor: Any, text: str, **limits: Any) -> tuple[Listener, Links]:
    """A started listener at a listen string, and the links that come to it."""
    links = Links()
    carrier = carrier_for(reactor, parse_listen_string(text), TRANSPORTS)
    router: Any = None  # a listener only hands it on
    listener = Listener(
        reactor, QuietProtocol(links), carrier, router, Limits(**limits), {}, text, lambda interface: ()
    )
    listener.startService()
    return listener, links


#: What the fixture `start` gives: `listen` without its reactor.
Start = Callable[..., tuple[Listener, Links]]


async def port_of(listener: Listener) -> int:
    """The port that the kernel chose."""
    port = await listener.when_listening()
    return int(port.getHost().port)
