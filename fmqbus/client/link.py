"""One connection of a client, whatever it speaks: octets out, and whether there is room. Knows nothing that outlives
it."""

from __future__ import annotations

from typing import Any
from typing import Protocol as Contract

from twisted.internet import protocol
from twisted.internet.interfaces import IPushProducer, ITCPTransport, ITransport
from twisted.python.failure import Failure
from zope.interface import implementer


class LinkOwner(Contract):
    """What every connection tells, and to whom."""

    def link_made(self, link: Any) -> None:
        """The connection stands and has room."""

    def link_lost(self, link: Any) -> None:
        """The connection has gone."""

    def room_changed(self, link: Any, has_room: bool) -> None:
        """The connection takes no more, or takes again."""


@implementer(IPushProducer)
class Link(protocol.Protocol):
    """The protocol on the connection. Those of the single protocols add `dataReceived`, and how one sends."""

    transport: ITransport

    def __init__(self, owner: LinkOwner) -> None:
        self._owner = owner

    def say(self, octets: bytes) -> None:
        """Hand octets to the transport, room or not."""
        self.transport.write(octets)

    def send(self, packet: Any) -> None:
        """Send a packet that had to wait for room: here, as it is."""
        self.say(packet)

    def say_no_more(self) -> None:
        """We write nothing more. Only now can the transport be closed: TLS waits for as long as it has a producer."""
        self.transport.unregisterProducer()  # type: ignore[attr-defined]

    def abort(self) -> None:
        """Close now."""
        self.transport.abortConnection()  # type: ignore[attr-defined]

    def connectionMade(self) -> None:
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(True)
        self.transport.registerProducer(self, True)  # type: ignore[attr-defined]
        self._owner.link_made(self)

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        self._owner.link_lost(self)

    def pauseProducing(self) -> None:
        self._owner.room_changed(self, False)

    def resumeProducing(self) -> None:
        self._owner.room_changed(self, True)

    def stopProducing(self) -> None:
        """The transport is about to go; `connectionLost` follows."""
