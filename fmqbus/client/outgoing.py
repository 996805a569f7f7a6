"""Where does a message wait while there is no connection, or while the connection has no room?

Here, in order, bounded in octets. What has been handed to the connection is no longer ours, unless the protocol has
acknowledgements (`fmqbus.client.unacknowledged`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sized
from typing import Generic, TypeVar

from twisted.internet.defer import Deferred, succeed

from fmqbus.errors import Detached, Overloaded
from fmqbus.waiting import Waiters

#: What a packet's Deferred and its place in the queue take; more than many a packet.
_PLACE_OCTETS = 500

Packet = TypeVar("Packet", bound=Sized)


class Outgoing(Generic[Packet]):
    """Packets on their way out. The length of one is how many octets it takes."""

    def __init__(self, max_octets: int) -> None:
        #: What those that wait take.
        self.octets = 0
        self._max_octets = max_octets
        self._waiting: OrderedDict[Deferred[None], Packet] = OrderedDict()
        self._write: Callable[[Packet], object] | None = None
        self._room = Waiters()
        self._is_closed = False

    @property
    def has_room(self) -> bool:
        """A packet that is sent now leaves at once."""
        return self._write is not None and not self._waiting

    def send(self, packet: Packet) -> Deferred[None]:
        """Return a Deferred that fires once the connection has taken the packet; with room there, it has fired already.

        Cancelling it withdraws the packet. It fails with `Detached` when the client stops first. Raises `Overloaded` if
        too much waits, and `Detached` after `close`; the packet is then not taken.
        """
        self._check_open()
        if self._write is not None and not self._waiting:
            self._write(packet)
            return succeed(None)
        return self._take(packet)

    def when_room(self) -> Deferred[None]:
        """Return a Deferred that fires once a packet would leave at once: at once if so. Fails with `Detached` when the
        client stops."""
        self._check_open()
        return succeed(None) if self.has_room else self._room.wait()

    def resume(self, write: Callable[[Packet], object]) -> None:
        """The connection has room: write what waits, until it calls `pause`."""
        self._write = write
        self._go_on()

    def pause(self) -> None:
        """The connection is full or has gone. May be repeated."""
        self._write = None

    def close(self) -> None:
        """The client stops: everybody who still waits is told, and nothing more is taken."""
        self._write = None
        self._is_closed = True
        stopped = Detached("the client has stopped")
        self.fail(stopped)
        self._room.fail(stopped)

    def reopen(self) -> None:
        """The client starts again: packets are taken, and wait for the connection."""
        self._is_closed = False

    def fail(self, error: Exception) -> None:
        """Nothing of what waits now will be sent; everybody is told."""
        waiting, self._waiting = self._waiting, OrderedDict()
        self._fail(waiting.items(), error)

    def _check_open(self) -> None:
        if self._is_closed:
            raise Detached("the client has stopped")

    def _take(self, packet: Packet) -> Deferred[None]:
        """Take a packet, if it may wait."""
        if self.octets + len(packet) + _PLACE_OCTETS > self._max_octets:
            raise Overloaded(f"what waits to be sent takes {self.octets} octets, of {self._max_octets}")
        taken: Deferred[None] = Deferred(self._withdraw)
        self._waiting[taken] = packet
        self.octets += len(packet) + _PLACE_OCTETS
        return taken

    def _go_on(self) -> None:
        while self._waiting and self._write is not None:
            taken, packet = self._waiting.popitem(last=False)
            self._write(packet)
            self._written(taken, packet)
        if self.has_room:
            self._room.fire()

    def _written(self, taken: Deferred[None], packet: Packet) -> None:
        self._let_go(packet)
        taken.callback(None)

    def _let_go(self, packet: Packet) -> None:
        self.octets -= len(packet) + _PLACE_OCTETS

    def _fail(self, packets: Iterable[tuple[Deferred[None], Packet]], error: Exception) -> None:
        """What is told to one may have him cancel another."""
        for taken, packet in packets:
            self._let_go(packet)
            if not taken.called:
                taken.errback(error)

    def _withdraw(self, taken: Deferred[None]) -> None:
        """A Deferred is being cancelled that has not fired."""
        packet = self._waiting.pop(taken, None)
        if packet is not None:
            self._let_go(packet)
