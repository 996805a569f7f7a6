"""What does a client consume, and what has it taken over? (MicroMsg2, Reliable, Definitions; reading 54)

Each of its queues has one consumer, with the window of the connection. A message that the client acknowledges is
accepted; whatever else it holds when it goes, the bus gives to somebody else. Where there are no acknowledgements, a
message is done with as soon as it is handed to the link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from fmqbus.interfaces import ISession
from fmqbus.model import Consumer, Outcome, StoredMessage
from fmqbus.protocols.micromsg2.connection import Connection
from fmqbus.protocols.micromsg2.frames import MAX_DESTINATION_OCTETS
from fmqbus.protocols.micromsg2.properties import REDELIVERED, marked

#: What a consumer that acknowledges nothing may be handed in one turn.
UNACKNOWLEDGED_WINDOW = 1_000

_Handed = tuple[Consumer, int]


class Consuming:
    """The consumers of one client."""

    __slots__ = ("_bus", "_connection", "_consumers", "_handed", "_settle_soon")

    def __init__(self, bus: ISession, connection: Connection, settle_soon: Callable[[], None]) -> None:
        """`settle_soon` has `settle_handed` called when the bus is not at work."""
        self._bus = bus
        self._connection = connection
        self._settle_soon = settle_soon
        #: By queue.
        self._consumers: dict[bytes, Consumer] = {}
        #: Handed over to a client that acknowledges nothing.
        self._handed: list[_Handed] = []

    def begin(self, queue: bytes, destination: bytes) -> None:
        """Consume a queue, if that is not done already. Its messages come with the destination that the client has
        written, if that can be. Raises as `ISession.consume`."""
        if queue not in self._consumers:
            window = self._connection.window if self._connection.is_acknowledged else UNACKNOWLEDGED_WINDOW
            tag = destination if len(destination) <= MAX_DESTINATION_OCTETS else queue
            self._consumers[queue] = self._bus.consume(queue, window, tag=tag)

    def end(self, queue: bytes) -> bool:
        """Consume no more; what the client holds, it may still acknowledge. False if it did not consume."""
        consumer = self.forget(queue)
        if consumer is None:
            return False
        self._bus.set_window(consumer, 0)
        self._cancel_if_done(consumer)
        return True

    def forget(self, queue: bytes) -> Consumer | None:
        """There is no consumer of this queue any more; returns the one there was."""
        return self._consumers.pop(queue, None)

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """Send messages of queues."""
        handed = [(consumer, stored.number) for consumer, stored in deliveries]
        self._connection.send_all(
            [
                (consumer.tag, stored.message.payload, _properties_of(stored), tag)
                for tag, (consumer, stored) in zip(handed, deliveries, strict=True)
            ]
        )
        if not self._connection.is_acknowledged:
            self._handed += handed
            self._settle_soon()

    def settle(self, handed: Sequence[_Handed]) -> None:
        """The client has taken these over."""
        for consumer, group in groupby(handed, key=itemgetter(0)):
            self._bus.settle(consumer, [number for _, number in group], Outcome.ACCEPT)
            self._cancel_if_done(consumer)

    def settle_handed(self) -> None:
        """What was handed to the link of a client that acknowledges nothing is done with."""
        handed, self._handed = self._handed, []
        self.settle(handed)

    def _cancel_if_done(self, consumer: Consumer) -> None:
        if not (consumer.window or consumer.unsettled):
            self._bus.cancel(consumer)


def _properties_of(stored: StoredMessage) -> Mapping[str, str]:
    """With a mark if it was handed out before, perhaps."""
    properties = stored.message.properties
    if stored.is_redelivered:
        return marked(properties, REDELIVERED, str(max(stored.deliveries - 1, 1)))
    return properties
