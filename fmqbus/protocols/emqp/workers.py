"""Which workers are there? (eMQP, Worker)

How gladly a worker serves each of its queues, and how many jobs it can take, the bus knows by its consumers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.presence import Peer, Presence
from fmqbus.protocols.emqp.queue_lists import Weighted


class Worker(Protocol):
    """What the table needs of each of them."""

    @property
    def peer(self) -> Peer:
        """Where it is."""

    @property
    def queues(self) -> Sequence[Weighted]:
        """What it serves; the most gladly served first."""


W = TypeVar("W", bound=Worker)


class Workers(Generic[W]):
    """All workers of a broker, with time as an argument."""

    def __init__(self, limits: Limits, presence: Presence) -> None:
        """`presence` is for them alone."""
        self._limits = limits
        self._presence = presence
        self._workers: dict[Peer, W] = {}
        #: Queue → how many serve it; and the sum of these.
        self._serving: dict[bytes, int] = {}
        self._pairs = 0

    def __iter__(self) -> Iterator[W]:
        return iter(self._workers.values())

    def __len__(self) -> int:
        return len(self._workers)

    def __contains__(self, peer: Peer) -> bool:
        return peer in self._workers

    def find(self, peer: Peer) -> W | None:
        """The worker of this name, if it is there."""
        return self._workers.get(peer)

    @property
    def served(self) -> Iterator[bytes]:
        """The queues that somebody serves."""
        return iter(self._serving)

    def serves(self, queue: bytes) -> bool:
        """Whether anybody who is there serves the queue."""
        return queue in self._serving

    def demand_room(self, queues: int) -> None:
        """There is room for one that serves so many. Raises `Overloaded` beyond `Limits.connections`, and where they
        all together would serve more queues than `Limits.subscriptions`."""
        limits = self._limits
        if len(self._workers) >= limits.connections or self._pairs + queues > limits.subscriptions:
            raise Overloaded("too many workers", "workers")

    def informed(self, worker: W, now: float) -> None:
        """One has INFORMed, which nobody of its name had before."""
        self._presence.informed(worker.peer, now)
        self._workers[worker.peer] = worker
        self._pairs += len(worker.queues)
        for _, queue in worker.queues:
            self._serving[queue] = self._serving.get(queue, 0) + 1

    def heard(self, peer: Peer, now: float) -> W | None:
        """It has said something. None if it is not there."""
        return self._workers.get(peer) if self._presence.heard(peer, now) else None

    def left(self, peer: Peer) -> W | None:
        """It is there no more. None if it was not."""
        worker = self._workers.pop(peer, None)
        if worker is not None:
            self._presence.left(peer)
            self._pairs -= len(worker.queues)
            for _, queue in worker.queues:
                self._serving[queue] -= 1
                if not self._serving[queue]:
                    del self._serving[queue]
        return worker

    def silent(self, now: float) -> Sequence[W]:
        """Take those out that have not been heard for too long."""
        return [worker for peer in self._presence.silent(now) if (worker := self.left(peer)) is not None]
