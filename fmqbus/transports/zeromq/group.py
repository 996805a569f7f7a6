"""All sockets with which a protocol of parts listens at one place: how do they begin and end together?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import zmq
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from zope.interface import implementer

from fmqbus.interfaces import IPartsProtocol, ISocketGroup
from fmqbus.transports.zeromq.admission import Admission
from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.doorkeeper import Doorkeeper
from fmqbus.transports.zeromq.gatekeeper import Gatekeeper
from fmqbus.transports.zeromq.options import Options
from fmqbus.transports.zeromq.places import Place
from fmqbus.transports.zeromq.sockets import KINDS, PartsSocket


@implementer(ISocketGroup)
class SocketGroup:
    """Also the port that a listener has. Stopping it turns new connections away; those that stand are the protocol's
    to end, for to unbind a ZeroMQ socket would cut them all off."""

    def __init__(
        self, reactor: Any, protocol: IPartsProtocol, options: Options, admission: Admission | None = None
    ) -> None:
        """Without an admission, ZeroMQ lets everybody in."""
        self.sockets: dict[str, PartsSocket] = {}
        #: The ports that the kernel chose, by the names of the sockets.
        self.ports: dict[str, int] = {}
        self._protocol = protocol
        self._options = options
        self._admission = admission
        self._context = Context(reactor)
        self._doorkeepers: list[Doorkeeper] = []

    def open(self, places: Iterable[Place]) -> None:
        """Listen everywhere, or nowhere. Raises `CannotListenError` for the first place that is taken."""
        factory = self._protocol.factory
        try:
            if self._admission is not None:
                Gatekeeper(self._context, self._admission, factory.listener, factory.turns)
                self._admission.changed = self._admission_changed
            for place in places:
                self._open(place)
            self._protocol.opened(self)
        except BaseException:
            self.close()
            raise

    def close(self) -> Deferred[None]:
        if self._admission is not None:
            self._admission.close()
        # a monitor that nobody reads would block ZeroMQ's thread: they go first
        for doorkeeper in self._doorkeepers:
            doorkeeper.shutdown()
        self._doorkeepers.clear()
        return self._context.close()

    def _open(self, place: Place) -> None:
        factory = self._protocol.factory
        socket = KINDS[place.kind](self._context, place.names[0], self._protocol, self._admission)
        self.sockets.update(dict.fromkeys(place.names, socket))
        self._doorkeepers.append(Doorkeeper(self._context, socket, factory.listener, factory.turns, self._admission))
        try:
            port = socket.bind(self._options, place.port)
        except zmq.ZMQError as error:
            reason = OSError(error.errno, error.strerror)
            raise CannotListenError(self._options.interface, place.port, reason) from error
        self.ports.update(dict.fromkeys(place.names, port))

    def _admission_changed(self, is_anybody_out: bool) -> None:
        for socket in self.sockets.values():
            socket.forget_origins()
        if is_anybody_out:
            for doorkeeper in self._doorkeepers:
                doorkeeper.check_soon()

    # the port

    def startListening(self) -> None:
        """It listens since it was made."""

    def stopListening(self) -> Deferred[None]:
        for doorkeeper in self._doorkeepers:
            doorkeeper.is_letting_in = False
        return self._protocol.stopping()

    def getHost(self) -> IPv4Address | IPv6Address:
        """Where the first socket listens; `ports` tells of all."""
        address = IPv6Address if ":" in self._options.interface else IPv4Address
        return address("TCP", self._options.interface, next(iter(self.ports.values())))
