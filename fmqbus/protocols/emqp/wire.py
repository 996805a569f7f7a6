"""How is something said to a peer, wherever it is?"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import count

from fmqbus.errors import BusError
from fmqbus.interfaces import IPartsSocket, ISocketGroup
from fmqbus.protocols.emqp.codec import encode
from fmqbus.protocols.emqp.commands import Command, Goodbye, Heartbeat, SpecifiedGoodbye
from fmqbus.protocols.emqp.presence import Peer


class Wire:
    """The sockets of one place."""

    def __init__(self, group: ISocketGroup, now: Callable[[], float]) -> None:
        """`now` tells the time in POSIX seconds."""
        self._sockets: dict[str, IPartsSocket] = {socket.name: socket for socket in group.sockets.values()}
        self._now = now
        self._prefix = secrets.token_hex(8).encode()
        self._numbers = count(1)

    def make_id(self) -> bytes:
        """An id that no other message has."""
        return b"%s-%d" % (self._prefix, next(self._numbers))

    def send(self, peer: Peer, command: Command) -> bool:
        """As `IPartsSocket.send`. Raises `Detached` also for a socket that is not there (any more)."""
        name, identity = peer
        return self._sockets[name].send(identity, encode(command))

    def tell(self, peer: Peer, command: Command) -> bool:
        """The same for what may be lost; False if it is."""
        if peer[0] not in self._sockets:
            return False
        try:
            self.send(peer, command)
        except BusError:
            return False
        return True

    def beat(self, peer: Peer) -> None:
        """HEARTBEAT."""
        self.tell(peer, Heartbeat(self.make_id(), repr(self._now()).encode()))

    def part(self, peer: Peer) -> None:
        """Say that the broker goes, in both dialects: each side ignores the other's word."""
        self.tell(peer, Goodbye(self.make_id()))
        self.tell(peer, SpecifiedGoodbye(self.make_id()))

    def forget(self, peer: Peer) -> None:
        """Discard what still waits for a peer that has gone."""
        if (socket := self._sockets.get(peer[0])) is not None:
            socket.forget(peer[1])
