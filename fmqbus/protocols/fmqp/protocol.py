"""FMQP connections: ties the octets of a stream to the codec and the session.

All that one read brought is decoded and acted on, then everything that gathered for anybody is handed over in one
flush: the unit of work is the read, not the packet. Only where that takes too long are others let in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.logger import Logger

from fmqbus.errors import Refused
from fmqbus.interfaces import IListener, IRouter
from fmqbus.model import Principal, Publication
from fmqbus.protocols.fmqp.codec import Decoder
from fmqbus.protocols.fmqp.session import FMQPSession
from fmqbus.transports.stream import StreamProtocol

_log = Logger()

#: A half-received packet counts against the listener's `Limits.assembly_octets` from here on; what is shorter is
#: bounded by the number of connections, and most reads end with such a rest.
_ACCOUNTED_FROM = 16 * 1024


class FMQPProtocol(StreamProtocol):
    """One connection of one FMQP client."""

    session: FMQPSession | None = None
    _accounted = 0

    def __init__(self, router: IRouter, listener: IListener) -> None:
        super().__init__(listener, router.turns)
        self._router = router
        self._decoder = Decoder(listener.limits.body_octets)

    def link_made(self) -> None:
        try:
            self.session = FMQPSession(self._router, Principal("fmqp", self.facts), self)
        except Refused as error:
            _log.info("a client is turned away: {error}", error=error)
            self.abort("refused")
        else:
            self.session.bus.flush()

    def octets_arrived(self, data: bytes) -> None:
        if self.session is not None:
            self.take_steps(self._act_on(self.session, data))

    def _act_on(self, session: FMQPSession, data: bytes) -> Iterator[None]:
        """Act on all that a read brought. Each packet that takes a look of its own is a step: it may be a subscription
        to very much, or have the bus find out where a topic leads. So is a run for several receivers. What comes after
        is decoded only when its turn comes, since it goes to those who listen by then. A client that asks for one of
        these at a time never has to wait."""
        bus, decoder = session.bus, self._decoder
        received = -decoder.packets
        for event in decoder.feed(data, bus.routes):
            if isinstance(event, Publication):
                bus.dispatch(event)
                if event.targets.is_single:
                    continue
            else:
                received -= not session.received(event)
            if decoder.unread:
                yield
        received += decoder.packets
        bus.count_received(received, len(data))
        if decoder.held > _ACCOUNTED_FROM or self._accounted:
            self._account(decoder.held)

    def turn_over(self) -> None:
        if self.session is not None:
            self.session.bus.flush()

    def link_full(self) -> None:
        if self.session is not None:
            self.session.bus.pause_delivery()

    def link_clear(self) -> None:
        if self.session is not None:
            self.session.bus.resume_delivery()

    def link_lost(self, reason: str) -> None:
        self._forget_half_received()
        if self.session is not None:
            self.session.bus.close(reason)

    def when_sent(self) -> Deferred[None]:
        assert self.session is not None, "a link without a session is aborted"
        return self.session.bus.when_delivered()

    def _account(self, held: int) -> None:
        held = held if held > _ACCOUNTED_FROM else 0
        if self.listener.hold(held - self._accounted):
            self._accounted = held
        else:
            _log.warn(
                "half-received packets of all clients pass their limit; {peer} is cut off", peer=self.facts.address
            )
            # now, and not when the connection has gone: else others would be cut off for what this one held
            self._forget_half_received()
            self.abort("assembly limit")

    def _forget_half_received(self) -> None:
        self._decoder = Decoder(self.listener.limits.body_octets)
        self.listener.hold(-self._accounted)
        self._accounted = 0


class FMQPFactory(Factory):
    """Makes the connections of one listener."""

    noisy = False

    def __init__(self, router: IRouter, listener: IListener) -> None:
        self._router = router
        self._listener = listener

    def buildProtocol(self, addr: IAddress | None) -> FMQPProtocol:
        return FMQPProtocol(self._router, self._listener)
