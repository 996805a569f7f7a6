"""All sockets with which a protocol of parts listens at one place: how do they begin and end together?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import zmq
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort
from twisted.internet.threads import deferToThreadPool
from txzmq import ZmqFactory
from zope.interface import implementer

from fmqbus.interfaces import IPartsProtocol, ISocketGroup
from fmqbus.transports.zeromq.doorkeeper import Doorkeeper
from fmqbus.transports.zeromq.options import Options
from fmqbus.transports.zeromq.places import Place
from fmqbus.transports.zeromq.sockets import KINDS, PartsSocket
from fmqbus.waiting import Waiters


@implementer(ISocketGroup, IListeningPort)
class SocketGroup:
    """Also the port that a listener has. Stopping it turns new connections away; those that stand are the protocol's
    to end, for to unbind a ZeroMQ socket would cut them all off."""

    def __init__(self, reactor: Any, protocol: IPartsProtocol, options: Options) -> None:
        self.sockets: dict[str, PartsSocket] = {}
        self._reactor = reactor
        self._protocol = protocol
        self._options = options
        self._context = ZmqFactory()
        # the class has the one that was installed when it was imported
        self._context.reactor = reactor
        #: The ports that the kernel chose, by the names of the sockets.
        self.ports: dict[str, int] = {}
        self._doorkeepers: list[Doorkeeper] = []
        self._closing: Waiters | None = None
        self._is_closed = False

    def open(self, places: Iterable[Place]) -> None:
        """Listen everywhere, or nowhere. Raises `CannotListenError` for the first place that is taken."""
        for place in places:
            try:
                self._open(place)
            except zmq.ZMQError as error:
                self.close()
                reason = OSError(error.errno, error.strerror)
                raise CannotListenError(self._options.interface, place.port, reason) from error
        self._protocol.opened(self)

    def close(self) -> Deferred[None]:
        if self._closing is None:
            self._closing = Waiters()
            for part in (*self._doorkeepers, *dict.fromkeys(self.sockets.values())):
                part.shutdown()
            # What was sent last leaves meanwhile; it takes as long as the sockets linger.
            pool = self._reactor.getThreadPool()
            deferToThreadPool(self._reactor, pool, self._context.context.term).addCallback(self._closed)
        return succeed(None) if self._is_closed else self._closing.wait()

    def _closed(self, _: object) -> None:
        assert self._closing is not None
        self._is_closed = True
        self._closing.fire()

    def _open(self, place: Place) -> None:
        factory = self._protocol.factory
        socket = KINDS[place.kind](self._context, place.names[0], self._protocol)
        self.sockets.update(dict.fromkeys(place.names, socket))
        self._doorkeepers.append(Doorkeeper(self._context, socket, factory.listener, factory.turns))
        port = socket.bind(self._options, place.port)
        self.ports.update(dict.fromkeys(place.names, port))

    # the port

    def startListening(self) -> None:
        """It listens since it was made."""

    def stopListening(self) -> Deferred[None]:
        for doorkeeper in self._doorkeepers:
            doorkeeper.is_letting_in = False
        self._protocol.stopping()
        return succeed(None)

    def getHost(self) -> IPv4Address | IPv6Address:
        """Where the first socket listens; `ports` tells of all."""
        address = IPv6Address if ":" in self._options.interface else IPv4Address
        return address("TCP", self._options.interface, next(iter(self.ports.values())))
