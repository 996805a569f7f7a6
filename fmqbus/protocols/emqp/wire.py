"""How is something said to a peer, wherever it is?

ZeroMQ sends in a thread of its own, which falls asleep whenever it has nothing to send, and to wake it costs more than
to send. So what can wait for the end of the turn is said then, all together.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from itertools import count

from fmqbus.errors import BusError, Detached
from fmqbus.interfaces import IPartsSocket, ISocketGroup
from fmqbus.protocols.emqp.codec import encode, requests_of
from fmqbus.protocols.emqp.commands import Command, Goodbye, Heartbeat, SpecifiedGoodbye
from fmqbus.protocols.emqp.presence import Peer

#: Of more peers that have said goodbye, those that did so first are forgotten.
_MOST_GONE = 10_000


class Wire:
    """The sockets of one place."""

    def __init__(
        self, group: ISocketGroup, now: Callable[[], float], soon: Callable[[Callable[[], None]], object]
    ) -> None:
        """`now` tells the time in POSIX seconds. `soon` calls something in a later turn."""
        self._sockets: dict[str, IPartsSocket] = {socket.name: socket for socket in group.sockets.values()}
        self._now = now
        self._soon = soon
        self._waiting: list[tuple[Peer, Command, Callable[[bool], None] | None]] = []
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

    def tell_soon(self, peer: Peer, command: Command, then: Callable[[bool], None] | None = None) -> None:
        """The same at the end of the turn, in the order in which this was called; `then` is told whether it is lost."""
        if not self._waiting:
            # in case that no socket was read in this turn
            self._soon(self.flush)
        self._waiting.append((peer, command, then))

    def flush(self) -> None:
        """The turn is over."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        told = [self.tell(peer, command) for peer, command, _ in waiting]
        for (_, _, then), is_told in zip(waiting, told, strict=True):
            if then is not None:
                then(is_told)

    def beat(self, peer: Peer) -> None:
        """HEARTBEAT."""
        self.tell(peer, Heartbeat(self.make_id(), repr(self._now()).encode()))

    def part(self, peer: Peer) -> None:
        """Say that the broker goes, in both dialects: each side ignores the other's word."""
        self.tell(peer, Goodbye(self.make_id()))
        self.tell(peer, SpecifiedGoodbye(self.make_id()))

    def gone(self, peer: Peer, is_answered: bool) -> Sequence[bytes]:
        """It has said goodbye: it is sent nothing more, neither what still waits for it, but for an answer to that.
        Returns the ids of REQUESTs that have not left. (eMQP, DISCONNECT and KBAI)"""
        if (socket := self._sockets.get(peer[0])) is None:
            return ()
        unsent = requests_of(socket.forget(peer[1]))
        if is_answered:
            self.part(peer)
        if len(self._gone) >= _MOST_GONE:
            del self._gone[next(iter(self._gone))]
        self._gone[peer] = None
        return unsent

    def back(self, peer: Peer) -> None:
        """It wants to hear something again."""
        self._gone.pop(peer, None)
