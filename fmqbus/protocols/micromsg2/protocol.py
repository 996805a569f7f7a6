"""MicroMsg2 connections: ties the octets of a stream to the conversation and the session."""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory

from fmqbus.interfaces import IListener, IRouter, ISession
from fmqbus.model import Principal
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.intake import STEP
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.session import MicroMsg2Session
from fmqbus.transports.session_stream import SessionStream


class MicroMsg2Protocol(SessionStream):
    """One connection of one MicroMsg2 client."""

    session: MicroMsg2Session

    def __init__(self, router: IRouter, listener: IListener, offer: Offer, default_queue: bytes) -> None:
        super().__init__(router, listener)
        self._offer = offer
        self._default_queue = default_queue

    def attach(self) -> ISession:
        principal = Principal("micromsg2", self.facts)
        logins = self.listener.logins
        self.session = MicroMsg2Session(self.router, principal, self, self._offer, self._default_queue, logins)
        return self.session.bus

    def act_on(self, data: bytes) -> Iterator[None]:
        """So many messages are a step, and what may take long for others than this client: subscriptions, and messages
        with many receivers. What is decoded before a wait says only what the client said."""
        session = self.session
        messages = work = 0
        for event in session.connection.receive(data):
            messages += event.frames.count if isinstance(event, Run) else isinstance(event, Received)
            for piece in session.heard(event):
                work += piece
                if work >= STEP:
                    work = 0
                    yield
        session.bus.count_received(messages, len(data))

    def turn_over(self) -> None:
        if self.bus is not None:
            self.session.flush()

    def link_full(self) -> None:
        if self.bus is not None:
            self.session.link_full()

    def link_clear(self) -> None:
        if self.bus is not None:
            self.session.link_clear()

    def let_go(self) -> None:
        self.session.link_lost()
        del self.session

    def when_sent(self) -> Deferred[None]:
        return super().when_sent().addCallback(lambda _: self.session.when_told())

    @property
    def held(self) -> int:
        return self.session.connection.held

    def forget_half_received(self) -> None:
        if self.bus is not None:
            self.session.connection.close()


class MicroMsg2Factory(Factory):
    """Makes the connections of one listener."""

    noisy = False

    def __init__(self, router: IRouter, listener: IListener, offer: Offer, default_queue: bytes) -> None:
        self._arguments = (router, listener, offer, default_queue)

    def buildProtocol(self, addr: IAddress | None) -> MicroMsg2Protocol:
        return MicroMsg2Protocol(*self._arguments)
