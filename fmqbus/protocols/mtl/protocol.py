"""MTL on ZeroMQ's sockets, and the beginning and the end of it all at one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.errors import PeerError
from fmqbus.interfaces import (
    IListener,
    IMTLProfile,
    IPartsFactory,
    IPartsProtocol,
    IPartsSocket,
    IRouter,
    ISocketGroup,
)
from fmqbus.model import Origin, SocketKind, SocketPlan
from fmqbus.protocols.mtl.broker import Broker
from fmqbus.protocols.mtl.settings import MTLSettings
from fmqbus.transports.facts import internet_facts

CONTROL, DATA = "control", "data"

#: The one that a script of MTL's time has (reading 26). Both flows share a socket unless they are given two ports.
PORT = 5975
SOCKETS = (SocketPlan(CONTROL, SocketKind.ROUTER, PORT), SocketPlan(DATA, SocketKind.ROUTER, PORT))

_log = Logger()


@implementer(IPartsProtocol)
class MTLProtocol:
    """One place."""

    _broker: Broker
    _group: ISocketGroup

    def __init__(self, factory: MTLFactory) -> None:
        self.factory = factory
        #: Read in this turn.
        self._messages = self._octets = 0

    def opened(self, group: ISocketGroup) -> None:
        factory, sockets = self.factory, group.sockets
        self._group = group
        # where only one has a port, it is for both (readings 24 and 25)
        control = sockets.get(CONTROL) or sockets[DATA]
        data = sockets.get(DATA) or control
        port = group.ports.get(DATA) or group.ports[CONTROL]
        _log.info("MTL has {ports}", ports=", ".join(f"{name}={port}" for name, port in group.ports.items()))
        place: Any = group.getHost()
        facts = internet_facts(place.host, None)
        self._broker = Broker(
            factory.router, factory.listener, factory.settings, factory.profiles, facts, control, data, port
        )
        self._broker.own.when_ended = self._ended
        factory.router.when_recovered().addCallbacks(self._begin, self._cannot_begin)

    def _begin(self, _: None) -> None:
        self._broker.start()
        for socket in self._group.sockets.values():
            socket.resume_reading()

    def _cannot_begin(self, failure: Failure) -> None:
        _log.error("MTL hears nobody: {reason}", reason=failure.getErrorMessage())

    def arrived(self, socket: IPartsSocket, peer: bytes, parts: Sequence[bytes], origin: Origin) -> None:
        self._messages += 1
        self._octets += sum(map(len, parts))
        self._broker.heard(socket, peer, parts, origin)

    def discarded(self, socket: IPartsSocket, peer: bytes, origin: Origin, reason: str) -> None:
        self._broker.refused(PeerError("a message beyond the limits", reason), origin)

    def turn_over(self) -> None:
        self._broker.own.bus.count_received(self._messages, self._octets)
        self._messages = self._octets = 0
        self._broker.flush()

    def link_clear(self, socket: IPartsSocket, peer: bytes) -> None:
        self._broker.flows.link_clear(peer)

    def peer_lost(self, socket: IPartsSocket, peer: bytes, unsent: Sequence[Sequence[bytes]]) -> None:
        self._broker.flows.lost(peer)

    def stopping(self) -> Deferred[None]:
        self._broker.stop()
        return succeed(None)

    def _ended(self) -> None:
        """The bus has let go of everybody."""
        self.factory.router.clock.callLater(0, self._close)

    def _close(self) -> None:
        self._broker.close()
        self._group.close()


@implementer(IPartsFactory)
class MTLFactory:
    """One for each listener."""

    sockets = SOCKETS

    def __init__(
        self, router: IRouter, listener: IListener, settings: MTLSettings, profiles: Mapping[str, IMTLProfile]
    ) -> None:
        self.router = router
        self.listener = listener
        self.settings = settings
        self.profiles = profiles
        self.turns = router.turns

    def buildProtocol(self, address: None) -> MTLProtocol:
        return MTLProtocol(self)
