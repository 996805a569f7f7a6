"""What has been sent and not yet acknowledged, and what becomes of it if the connection goes meanwhile?

It counts against the bound as what waits does, for it may have to be sent once more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from twisted.internet.defer import Deferred, DeferredList

from fmqbus.client.outgoing import Outgoing, Packet
from fmqbus.waiting import Waiters


class AcknowledgedOutgoing(Outgoing[Packet]):
    """Packets whose Deferreds fire when the other side has acknowledged them. Packets are compared by identity."""

    def __init__(self, max_octets: int) -> None:
        super().__init__(max_octets)
        #: Whether this connection acknowledges. If not, what it has taken is done with.
        self.is_acknowledged = False
        self._unacknowledged: dict[Packet, Deferred[None]] = {}

    def send(self, packet: Packet) -> Deferred[None]:
        """Return a Deferred that fires once the packet is acknowledged. It fails as `connection_lost` says, and with
        `Detached` when the client stops first.

        Cancelling it withdraws the packet, or at least keeps it from being sent again. Raises as `Outgoing.send` does.
        """
        self._check_open()
        taken = self._take(packet)
        self._go_on()
        return taken

    def when_done(self) -> Deferred[None]:
        """Return a Deferred that fires once all that was sent so far is acknowledged, or has failed."""
        done = Waiters()
        waiting = done.wait()  # to cancel this one must cancel none of those
        DeferredList([*self._unacknowledged.values(), *self._waiting]).addCallback(lambda _: done.fire())
        return waiting

    def acknowledged(self, packets: Iterable[Packet]) -> None:
        """The other side has taken these over; those that nobody waits for are ignored."""
        for packet in packets:
            taken = self._unacknowledged.pop(packet, None)
            if taken is not None:
                self._let_go(packet)
                taken.callback(None)

    def rejected(self, packets: Iterable[Packet], error: Exception) -> None:
        """The other side does not take these, now or later."""
        self._fail(self._take_back(packets), error)

    def again(self, packets: Iterable[Packet]) -> None:
        """The other side could not take these now: they are sent again, before all that waits."""
        self._waiting = OrderedDict([*self._take_back(packets), *self._waiting.items()])

    def _take_back(self, packets: Iterable[Packet]) -> list[tuple[Deferred[None], Packet]]:
        known = [packet for packet in packets if packet in self._unacknowledged]
        return [(self._unacknowledged.pop(packet), packet) for packet in known]

    def connection_lost(self, error: Exception | None) -> None:
        """What was not acknowledged fails with this; without an error, it is sent again before all that waits."""
        unacknowledged = [(taken, packet) for packet, taken in self._unacknowledged.items()]
        self._unacknowledged = {}
        if error is None:
            self._waiting = OrderedDict([*unacknowledged, *self._waiting.items()])
        else:
            self._fail(unacknowledged, error)

    def fail(self, error: Exception) -> None:
        """Nothing of what waits now will be sent, nor will more be acknowledged; everybody is told."""
        self.connection_lost(error)
        super().fail(error)

    def _written(self, taken: Deferred[None], packet: Packet) -> None:
        if self.is_acknowledged:
            self._unacknowledged[packet] = taken
        else:
            super()._written(taken, packet)

    def _withdraw(self, taken: Deferred[None]) -> None:
        super()._withdraw(taken)
        for packet, pending in self._unacknowledged.items():
            if pending is taken:
                del self._unacknowledged[packet]
                self._let_go(packet)
                break
