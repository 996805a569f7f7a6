"""What do several queues hold together, and what have they seen?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from fmqbus.router.queue import Queue


@attrs.define(slots=True)
class QueueTally:
    """Sums. What queues have counted that have gone stays in them, or the sums would fall."""

    queues: int = 0
    ready: int = 0
    unsettled: int = 0
    delayed: int = 0
    octets: int = 0
    consumers: int = 0
    enqueued: int = 0
    delivered: int = 0
    accepted: int = 0
    released: int = 0
    dead_lettered: int = 0
    requeued: int = 0
    dropped: int = 0
    expired: int = 0
    refused: int = 0

    def add(self, queue: Queue) -> None:
        """A queue that there is."""
        self.queues += 1
        self.ready += queue.ready
        self.unsettled += queue.unsettled
        self.delayed += queue.delayed
        self.octets += queue.octets
        self.consumers += len(queue.consumers)
        self._count(queue)

    def take(self, queue: Queue) -> None:
        """One that goes, and holds nothing. If it comes back it counts from the beginning."""
        self._count(queue)
        queue.enqueued = queue.delivered = queue.accepted = queue.released = 0
        queue.dead_lettered = queue.requeued = queue.dropped = queue.expired = queue.refused = 0

    def _count(self, queue: Queue) -> None:
        self.enqueued += queue.enqueued
        self.delivered += queue.delivered
        self.accepted += queue.accepted
        self.released += queue.released
        self.dead_lettered += queue.dead_lettered
        self.requeued += queue.requeued
        self.dropped += queue.dropped
        self.expired += queue.expired
        self.refused += queue.refused
