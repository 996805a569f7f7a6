"""Which worker gets the next job of a queue, and which queue's job does a free worker get? (eMQP, Worker)

A worker says which queues it serves and how gladly, and one READY for each job that it can take: its credit. Of the
workers with credit a queue's job goes to the one that serves it most gladly, and among those alike to the one that has
waited longest. A worker that serves several queues takes from the one that it serves most gladly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.presence import Peer, Presence
from fmqbus.protocols.emqp.queue_lists import Weighted


@attrs.define(eq=False)
class Worker:
    """One that is there. Only the table changes it."""

    peer: Peer
    #: The most gladly served first.
    queues: Sequence[Weighted]
    #: Jobs that it can take now.
    credit: int = 0


class Workers:
    """All workers of a broker, with time as an argument."""

    def __init__(self, limits: Limits, presence: Presence) -> None:
        """`presence` is for them alone."""
        self._limits = limits
        self._presence = presence
        self._workers: dict[Peer, Worker] = {}
        #: Queue → how many serve it; and the sum of these.
        self._serving: dict[bytes, int] = {}
        self._pairs = 0
        #: Queue → weight → those with credit, whoever has waited longest first. Nothing in it is empty.
        self._free: dict[bytes, dict[int, dict[Peer, Worker]]] = {}

    def __iter__(self) -> Iterator[Worker]:
        return iter(self._workers.values())

    def __len__(self) -> int:
        return len(self._workers)

    def find(self, peer: Peer) -> Worker | None:
        """The worker of this name, if it is there."""
        return self._workers.get(peer)

    def serves(self, queue: bytes) -> bool:
        """Whether anybody who is there serves the queue."""
        return queue in self._serving

    def informed(self, peer: Peer, queues: Sequence[Weighted], now: float) -> Worker:
        """It INFORMs. One that was there already begins anew, without credit. Raises `Overloaded` beyond
        `Limits.connections`, and where they all together would serve more queues than `Limits.subscriptions`."""
        self.left(peer)
        limits = self._limits
        if len(self._workers) >= limits.connections or self._pairs + len(queues) > limits.subscriptions:
            raise Overloaded("too many workers", "workers")
        self._pairs += len(queues)
        self._presence.informed(peer, now)
        worker = self._workers[peer] = Worker(peer, queues)
        for _, queue in queues:
            self._serving[queue] = self._serving.get(queue, 0) + 1
        return worker

    def heard(self, peer: Peer, now: float) -> Worker | None:
        """It has said something. None if it is not there."""
        return self._workers.get(peer) if self._presence.heard(peer, now) else None

    def ready(self, worker: Worker) -> bool:
        """READY: one job more. False if it has said so more often than `Limits.consumer_window` allows."""
        if worker.credit >= self._limits.consumer_window:
            return False
        worker.credit += 1
        if worker.credit == 1:
            self._enlist(worker)
        return True

    def best_for(self, queue: bytes) -> Worker | None:
        """Who gets the queue's next job. None if nobody can take one."""
        by_weight = self._free.get(queue)
        return next(iter(by_weight[max(by_weight)].values())) if by_weight else None

    def given(self, worker: Worker) -> None:
        """It was given a job: its credit is one less, and others come before it."""
        self._strike(worker)
        worker.credit -= 1
        if worker.credit:
            self._enlist(worker)

    def left(self, peer: Peer) -> Worker | None:
        """It is there no more. None if it was not."""
        worker = self._workers.pop(peer, None)
        if worker is not None:
            self._presence.left(peer)
            self._pairs -= len(worker.queues)
            if worker.credit:
                self._strike(worker)
            for _, queue in worker.queues:
                self._serving[queue] -= 1
                if not self._serving[queue]:
                    del self._serving[queue]
        return worker

    def silent(self, now: float) -> Sequence[Worker]:
        """Take those out that have not been heard for too long."""
        return [worker for peer in self._presence.silent(now) if (worker := self.left(peer)) is not None]

    def _enlist(self, worker: Worker) -> None:
        for weight, queue in worker.queues:
            self._free.setdefault(queue, {}).setdefault(weight, {})[worker.peer] = worker

    def _strike(self, worker: Worker) -> None:
        for weight, queue in worker.queues:
            by_weight = self._free[queue]
            del by_weight[weight][worker.peer]
            if not by_weight[weight]:
                del by_weight[weight]
            if not by_weight:
                del self._free[queue]
