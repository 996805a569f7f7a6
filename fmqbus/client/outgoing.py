"""Where does a publication wait while there is no connection, or while the connection has no room?

Here, in order, bounded in octets. What has been handed to the transport is no longer ours: the protocol has no
acknowledgements, so what a breaking connection had taken may be lost (`FMQPClient.sync` tells).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed

from fmqbus.errors import Detached, Overloaded

#: What a packet's Deferred and its place in the queue take; more than many a packet.
_PLACE_OCTETS = 500


class Outgoing:
    """Packets on their way out."""

    def __init__(self, max_octets: int) -> None:
        #: What those that wait take.
        self.octets = 0
        self._max_octets = max_octets
        self._waiting: OrderedDict[Deferred[None], bytes] = OrderedDict()
        self._write: Callable[[bytes], object] | None = None
        self._is_closed = False

    def send(self, packet: bytes) -> Deferred[None]:
        """Return a Deferred that fires once the transport has taken the packet; with room there, it has fired already.

        Cancelling it withdraws the packet. It fails with `Detached` when the client stops first. Raises `Overloaded` if
        too much waits, and `Detached` after `close`; the packet is then not taken.
        """
        if self._is_closed:
            raise Detached("the client has stopped")
        if self._write is not None and not self._waiting:
            self._write(packet)
            return succeed(None)
        if self.octets + len(packet) + _PLACE_OCTETS > self._max_octets:
            raise Overloaded(f"what waits to be sent takes {self.octets} octets, of {self._max_octets}")
        taken: Deferred[None] = Deferred(self._withdraw)
        self._waiting[taken] = packet
        self.octets += len(packet) + _PLACE_OCTETS
        return taken

    def resume(self, write: Callable[[bytes], object]) -> None:
        """The transport has room: write what waits, until it calls `pause`."""
        self._write = write
        while self._waiting and self._write is not None:
            taken, packet = self._next()
            self._write(packet)
            taken.callback(None)

    def pause(self) -> None:
        """The transport is full or has gone. May be repeated."""
        self._write = None

    def close(self) -> None:
        """The client stops: everybody who still waits is told, and nothing more is taken."""
        self._write = None
        self._is_closed = True
        while self._waiting:
            taken, _ = self._next()
            taken.errback(Detached("the client has stopped"))

    def reopen(self) -> None:
        """The client starts again: packets are taken, and wait for the transport."""
        self._is_closed = False

    def _next(self) -> tuple[Deferred[None], bytes]:
        taken, packet = self._waiting.popitem(last=False)
        self.octets -= len(packet) + _PLACE_OCTETS
        return taken, packet

    def _withdraw(self, taken: Deferred[None]) -> None:
        """Called for one that waits only: the others have fired, and cannot be cancelled."""
        self.octets -= len(self._waiting.pop(taken)) + _PLACE_OCTETS
