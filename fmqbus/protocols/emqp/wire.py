"""How is something said to a peer, wherever it is?"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import count

from fmqbus.errors import BusError, Detached
from fmqbus.interfaces import IPartsSocket, ISocketGroup
from fmqbus.protocols.emqp.codec import encode
from fmqbus.protocols.emqp.commands import Command, Goodbye, Heartbeat, SpecifiedGoodbye
from fmqbus.protocols.emqp.presence import Peer

#: Of more peers that have said goodbye, those that did so first are forgotten.
_MOST_GONE = 10_000


class Wire:
    """The sockets of one place."""

    def __init__(self, group: ISocketGroup, now: Callable[[], float]) -> None:
        """`now` tells the time in POSIX seconds."""
        self._sockets: dict[str, IPartsSocket] = {socket.name: socket for socket in group.sockets.values()}
        self._now = now
        self._prefix = secrets.token_hex(8).encode()
        self._numbers = count(1)
        #: Those that have said goodbye, and nothing since that wants an answer.
        self._gone: dict[Peer, None] = {}

    def make_id(self) -> bytes:
        """An id that no other message has."""
        return b"%s-%d" % (self._prefix, next(self._numbers))

    def send(self, peer: Peer, command: Command) -> bool:
        """As `IPartsSocket.send`. Raises `Detached` also for who has said goodbye."""
        if peer in self._gone:
            raise Detached("it has said goodbye")
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

    def gone(self, peer: Peer, is_answered: bool) -> None:
        """It has said goodbye: it is sent nothing more, neither what still waits for it, but for an answer to that.
        (eMQP, DISCONNECT and KBAI)"""
        if (socket := self._sockets.get(peer[0])) is None:
            return
        socket.forget(peer[1])
        if is_answered:
            self.part(peer)
        if len(self._gone) >= _MOST_GONE:
            del self._gone[next(iter(self._gone))]
        self._gone[peer] = None

    def back(self, peer: Peer) -> None:
        """It wants to hear something again."""
        self._gone.pop(peer, None)
