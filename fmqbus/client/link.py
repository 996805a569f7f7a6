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

    def room_changed(self, link: Any) -> None:
        """The connection takes no more, or takes again: `Link.has_room`."""


@implementer(IPushProducer)
class Link(protocol.Protocol):
    """The protocol on the connection. Those of the single protocols add `dataReceived`, and how one sends."""

    transport: ITransport

    def __init__(self, owner: LinkOwner, clock: Any) -> None:
        self._owner = owner
        self._clock = clock
        self._is_full = False
        self._cut_off: Any = None

    @property
    def has_room(self) -> bool:
        """What had to wait may be sent."""
        return not self._is_full

    def say(self, octets: bytes) -> None:
        """Hand octets to the transport, room or not."""
        self.transport.write(octets)

    def send(self, packet: Any) -> None:
        """Send a packet that had to wait for room: here, as it is."""
        self.say(packet)

    def say_no_more(self, seconds: float) -> None:
        """We write nothing more. Only now can the transport be closed: TLS waits for as long as it has a producer. If
        that takes longer than so many seconds, the connection is cut off."""
        if self._cut_off is not None:
            return
        self.transport.unregisterProducer()  # type: ignore[attr-defined]
        self._cut_off = self._clock.callLater(seconds, self.transport.abortConnection)  # type: ignore[attr-defined]

    def connectionMade(self) -> None:
        if ITCPTransport.providedBy(self.transport):
            self.transport.setTcpNoDelay(True)
        self.transport.registerProducer(self, True)  # type: ignore[attr-defined]
        self._owner.link_made(self)

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        if self._cut_off is not None and self._cut_off.active():
            self._cut_off.cancel()
        self._owner.link_lost(self)

    def pauseProducing(self) -> None:
        self._is_full = True
        self._owner.room_changed(self)

    def resumeProducing(self) -> None:
        self._is_full = False
        self._owner.room_changed(self)

    def stopProducing(self) -> None:
        """The transport is about to go; `connectionLost` follows."""
