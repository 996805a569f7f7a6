"""How is a connection held back until what comes before its protocol is over?

A PROXY header and a TLS handshake both come first, and only after them it is known who the peer is. Until then the
protocol is not told of the connection, so it does not count there; what waits has bounds of its own here, in number
and time. When the protocol takes over, nothing of this stays between it and its transport.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import Protocol
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure

#: A peer that is slower than this has no working network or no good intent. OpenSSH gives 120, nginx 60.
PREAMBLE_SECONDS = 10.0
#: As many as the kernel's own queue is given. When all are taken the one who waited longest goes: honest peers
#: need a moment, so it is most likely not one of them.
PREAMBLE_PLACES = 1024


class WaitingRoom:
    """Transports of one port whose protocol has not begun. Constant time for each, one timer for all."""

    def __init__(self, clock: Any, seconds: float = PREAMBLE_SECONDS, places: int = PREAMBLE_PLACES) -> None:
        self._clock = clock
        self._seconds = seconds
        self._places = places
        #: Transport → when it must have left; the longest waiting first, as all may wait equally long.
        self._deadlines: OrderedDict[Any, float] = OrderedDict()
        self._timer: IDelayedCall | None = None

    def __len__(self) -> int:
        return len(self._deadlines)

    def enter(self, transport: Any) -> None:
        """Begin to wait. The transport is aborted when its time is over, or when its place is needed."""
        if len(self) >= self._places:
            self._evict()
        self._deadlines[transport] = self._clock.seconds() + self._seconds
        if self._timer is None:
            self._timer = self._clock.callLater(self._seconds, self._time_is_up)

    def leave(self, transport: Any) -> None:
        """The protocol begins, or the connection has gone. May be repeated."""
        self._deadlines.pop(transport, None)
        if not self._deadlines and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """The port is closed: nobody here will be served."""
        while self._deadlines:
            self._evict()

    def _evict(self) -> None:
        longest_waiting = next(iter(self._deadlines))
        self.leave(longest_waiting)
        longest_waiting.abortConnection()

    def _time_is_up(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        while self._deadlines and next(iter(self._deadlines.values())) <= now:
            self._evict()
        if self._deadlines:
            self._timer = self._clock.callLater(next(iter(self._deadlines.values())) - now, self._time_is_up)


class Preamble(Protocol):
    """Stands in for a protocol until `protocol_begins` is called; a subclass knows when."""

    def __init__(self, room: WaitingRoom, successor: Any) -> None:
        self._room = room
        self._successor = successor

    def connectionMade(self) -> None:
        self._room.enter(self.transport)

    def connectionLost(self, reason: Failure | None = None) -> None:
        """The successor has not been told of the connection, so it need not be told of its end."""
        self._room.leave(self.transport)

    def protocol_begins(self) -> None:
        """Give the transport to the protocol it was made for, and have no more part in it."""
        transport: Any = self.transport
        self._room.leave(transport)
        if isinstance(transport, ProtocolWrapper):
            transport.wrappedProtocol = self._successor
        else:
            transport.protocol = self._successor
        self._successor.makeConnection(transport)


class PreambleFactory(WrappingFactory):
    """Builds preambles before the protocols of another factory. Closing its port empties the waiting room."""

    noisy = False

    def __init__(self, wrapped: Any, room: WaitingRoom) -> None:
        super().__init__(wrapped)
        self._room = room

    def preamble(self, successor: Any, address: Any) -> Preamble | None:
        """Return the preamble for a connection from `address`, or None to close it; a subclass knows which."""
        raise NotImplementedError

    def buildProtocol(self, addr: Any) -> Any:
        successor = self.wrappedFactory.buildProtocol(addr)
        return None if successor is None else self.preamble(successor, addr)

    def stopFactory(self) -> None:
        self._room.close()
