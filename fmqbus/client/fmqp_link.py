"""One connection of an FMQP client: octets to publications and packets."""

from __future__ import annotations

from typing import Any
from typing import Protocol as Contract

from fmqbus.client.link import Link, LinkOwner
from fmqbus.client.subscription import Subscriptions
from fmqbus.model import Publication
from fmqbus.protocols.fmqp.codec import Decoder, Oversize, Packet


class FMQPLinkOwner(LinkOwner, Contract):
    """What the connection tells besides, and to whom."""

    subscriptions: Subscriptions[Any]

    def publication_received(self, publication: Publication) -> None:
        """Messages for the targets that `subscriptions` has named."""

    def packet_received(self, packet: Packet) -> None:
        """A packet that needs a look of its own."""

    def oversize_received(self, oversize: Oversize) -> None:
        """A packet too large to keep."""


class FMQPLink(Link):
    """The protocol on the connection."""

    _owner: FMQPLinkOwner

    def __init__(self, owner: FMQPLinkOwner, clock: Any, body_limit: int) -> None:
        super().__init__(owner, clock)
        self._decoder = Decoder(body_limit)

    def dataReceived(self, data: bytes) -> None:
        for event in self._decoder.feed(data, self._owner.subscriptions):
            if isinstance(event, Publication):
                self._owner.publication_received(event)
            elif isinstance(event, Packet):
                self._owner.packet_received(event)
            else:
                self._owner.oversize_received(event)
