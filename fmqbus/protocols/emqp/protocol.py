"""eMQP on ZeroMQ's sockets: parts to commands, and the beginning and the end of it all at one place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import time
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.errors import PeerError
from fmqbus.interfaces import IListener, IPartsFactory, IPartsProtocol, IPartsSocket, IRouter, ISocketGroup
from fmqbus.model import Origin, SocketKind, SocketPlan
from fmqbus.protocols.emqp.broker import Broker, Sender
from fmqbus.protocols.emqp.codec import decode, requests_of
from fmqbus.protocols.emqp.settings import EMQPSettings
from fmqbus.protocols.emqp.wire import Wire
from fmqbus.transports.facts import internet_facts

FRONTEND, BACKEND, ADMIN, PUBIN, PUBOUT = "frontend", "backend", "admin", "pubin", "pubout"

#: The ports that EventMQ has.
SOCKETS = (
    SocketPlan(FRONTEND, SocketKind.ROUTER, 47291),
    SocketPlan(BACKEND, SocketKind.ROUTER, 47290),
    SocketPlan(ADMIN, SocketKind.ROUTER, 47293),
    SocketPlan(PUBIN, SocketKind.ROUTER, 47298),
    SocketPlan(PUBOUT, SocketKind.XPUB, 47299),
)

_log = Logger()


@implementer(IPartsProtocol)
class EMQPProtocol:
    """One place."""

    _broker: Broker
    _group: ISocketGroup
    _admin: IPartsSocket | None = None

    def __init__(self, factory: EMQPFactory) -> None:
        self.factory = factory
        #: Read in this turn.
        self._messages = self._octets = 0

    def opened(self, group: ISocketGroup) -> None:
        router, sockets = self.factory.router, group.sockets
        self._group = group
        admin = sockets.get(ADMIN)
        if admin is not None and admin.name == ADMIN:
            self._admin = admin
        place: Any = group.getHost()
        _log.info("eMQP has {ports}", ports=", ".join(f"{name}={port}" for name, port in group.ports.items()))
        facts = internet_facts(place.host, None)
        wire = Wire(group, time, partial(router.clock.callLater, 0))
        self._broker = Broker(router, wire, self.factory.settings, facts, sockets.get(PUBOUT))
        self._broker.own.when_ended = self._ended
        router.when_recovered().addCallbacks(self._begin, self._cannot_begin)

    def _begin(self, _: None) -> None:
        self._broker.start()
        for socket in self._group.sockets.values():
            socket.resume_reading()

    def _cannot_begin(self, failure: Failure) -> None:
        _log.error("eMQP hears nobody: {reason}", reason=failure.getErrorMessage())

    def arrived(self, socket: IPartsSocket, peer: bytes, parts: Sequence[bytes], origin: Origin) -> None:
        broker = self._broker
        self._messages += 1
        self._octets += sum(map(len, parts))
        if socket.name == PUBOUT:
            if broker.subscribers is not None:
                broker.subscribers.wished(parts[0])
            return
        try:
            command = decode(parts, self.factory.listener.limits)
        except PeerError as error:
            broker.refused(error)
        else:
            broker.heard(Sender((socket.name, peer), origin, socket is self._admin), command)

    def discarded(self, socket: IPartsSocket, peer: bytes, origin: Origin, reason: str) -> None:
        self._broker.refused(PeerError("a message that the carrier has thrown away", reason))

    def turn_over(self) -> None:
        self._broker.own.bus.count_received(self._messages, self._octets)
        self._messages = self._octets = 0
        self._broker.flush()

    def link_clear(self, socket: IPartsSocket, peer: bytes) -> None:
        self._broker.link_clear((socket.name, peer))

    def peer_lost(self, socket: IPartsSocket, peer: bytes, unsent: Sequence[Sequence[bytes]]) -> None:
        self._broker.lost((socket.name, peer), requests_of(unsent))

    def stopping(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._broker.stop(self.factory.listener.limits.drain_seconds))

    def _ended(self) -> None:
        """The bus has let go of everybody."""
        self.factory.router.clock.callLater(0, self._group.close)


@implementer(IPartsFactory)
class EMQPFactory:
    """One for each listener."""

    sockets = SOCKETS

    def __init__(self, router: IRouter, listener: IListener, settings: EMQPSettings) -> None:
        self.router = router
        self.listener = listener
        self.settings = settings
        self.turns = router.turns

    def buildProtocol(self, address: None) -> EMQPProtocol:
        return EMQPProtocol(self)
