"""FMQP connections: ties the octets of a stream to the codec and the session."""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory

from fmqbus.interfaces import IListener, IRouter, ISession
from fmqbus.model import Principal, Publication
from fmqbus.protocols.fmqp.codec import Decoder
from fmqbus.protocols.fmqp.session import FMQPSession
from fmqbus.transports.session_stream import SessionStream


class FMQPProtocol(SessionStream):
    """One connection of one FMQP client."""

    session: FMQPSession

    def __init__(self, router: IRouter, listener: IListener) -> None:
        super().__init__(router, listener)
        self._decoder = Decoder(listener.limits.body_octets)

    def attach(self) -> ISession:
        self.session = FMQPSession(self.router, Principal("fmqp", self.facts), self)
        return self.session.bus

    def act_on(self, data: bytes) -> Iterator[None]:
        """Each packet that takes a look of its own is a step: it may be a subscription to very much, or have the bus
        find out where a topic leads. So is a run for several receivers. What comes after is decoded only when its turn
        comes, since it goes to those who listen by then. A client that asks for one of these at a time never has to
        wait."""
        session, decoder = self.session, self._decoder
        bus = session.bus
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

    def let_go(self) -> None:
        del self.session

    @property
    def held(self) -> int:
        return self._decoder.held

    def forget_half_received(self) -> None:
        self._decoder = Decoder(self.listener.limits.body_octets)


class FMQPFactory(Factory):
    """Makes the connections of one listener."""

    noisy = False

    def __init__(self, router: IRouter, listener: IListener) -> None:
        self._router = router
        self._listener = listener

    def buildProtocol(self, addr: IAddress | None) -> FMQPProtocol:
        return FMQPProtocol(self._router, self._listener)
