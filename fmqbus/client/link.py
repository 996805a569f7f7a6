"""One connection of a client: octets to events and back, and whether there is room. Knows nothing that outlives it."""

from __future__ import annotations

from typing import Protocol as Contract

from twisted.internet import protocol
from twisted.internet.interfaces import IPushProducer, ITCPTransport, ITransport
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.client.subscription import Subscriptions
from fmqbus.model import Publication
from fmqbus.protocols.fmqp.codec import Decoder, Oversize, Packet


class LinkOwner(Contract):
    """What a connection tells, and to whom."""

    subscriptions: Subscriptions

    def link_made(self, link: Link) -> None:
        """The connection stands and has room."""

    def link_lost(self, link: Link) -> None:
        """The connection has gone."""

    def room_changed(self, link: Link, has_room: bool) -> None:
        """The connection takes no more, or takes again."""

    def publication_received(self, publication: Publication) -> None:
        """Messages for the targets that `subscriptions` has named."""

    def packet_received(self, packet: Packet) -> None:
        """A packet that needs a look of its own."""

    def oversize_received(self, oversize: Oversize) -> None:
        """A packet too large to keep."""


@implementer(IPushProducer)
class Link(protocol.Protocol):
    """The protocol on the connection."""

    transport: ITransport

    def __init__(self, owner: LinkOwner, body_limit: int) -> None:
        self._owner = owner
        self._decoder = Decoder(body_limit)

    def send(self, data: bytes) -> None:
        """Hand octets to the transport, room or not."""
        self.transport.write(data)

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

    def dataReceived(self, data: bytes) -> None:
        for event in self._decoder.feed(data, self._owner.subscriptions):
            if isinstance(event, Publication):
                self._owner.publication_received(event)
            elif isinstance(event, Packet):
                self._owner.packet_received(event)
            else:
                self._owner.oversize_received(event)

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        self._owner.link_lost(self)

    def pauseProducing(self) -> None:
        self._owner.room_changed(self, False)

    def resumeProducing(self) -> None:
        self._owner.room_changed(self, True)

    def stopProducing(self) -> None:
        """The transport is about to go; `connectionLost` follows."""
