"""Which jobs are in whose hands, and until when?

A REPLY says which job has ended by the id of its REQUEST; those of the specification do not, so it is guessed. A worker
may come back under another identity and reply from there, so a job is looked for wherever it is, and those of a worker
that is lost wait a while before they are given to another. A process may die without a word, so each job has an end
here, whatever the worker does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import attrs

from fmqbus.deadlines import Deadlines
from fmqbus.errors import LocalError
from fmqbus.protocols.emqp.commands import Reply
from fmqbus.protocols.emqp.presence import Peer

Work = TypeVar("Work")


@attrs.frozen(slots=True, eq=False)
class Assignment(Generic[Work]):
    """One job in the hands of a worker."""

    #: Under which the worker has it; of no other that is in anybody's hands.
    request_id: bytes
    worker: Peer
    #: The caller's own.
    work: Work


class Assignments(Generic[Work]):
    """All jobs that are in somebody's hands, with time as an argument."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, Assignment[Work]] = {}
        #: Worker → its jobs, the oldest first; nobody in it has none.
        self._by_worker: dict[Peer, dict[bytes, Assignment[Work]]] = {}
        self._ends: Deadlines[bytes] = Deadlines()
        self._returns: Deadlines[bytes] = Deadlines()

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, request_id: bytes) -> bool:
        return request_id in self._by_id

    @property
    def busy(self) -> Iterator[Peer]:
        """The workers that have jobs."""
        return iter(self._by_worker)

    def find(self, worker: Peer, request_id: bytes) -> Assignment[Work] | None:
        """A job that a worker has."""
        return self._by_worker.get(worker, {}).get(request_id)

    def has(self, worker: Peer, request_id: bytes) -> bool:
        """Whether it has this job."""
        return self.find(worker, request_id) is not None

    def of(self, worker: Peer) -> Sequence[Assignment[Work]]:
        """The jobs of a worker, the oldest first."""
        return tuple(self._by_worker.get(worker, {}).values())

    def assign(self, request_id: bytes, worker: Peer, work: Work, seconds: float | None, now: float) -> None:
        """A worker was given a job, and may take so long for it; None is without end. Raises `LocalError` if the id is
        in use."""
        if request_id in self._by_id:
            raise LocalError("the id of a request is in use")
        assignment = Assignment(request_id, worker, work)
        self._by_id[request_id] = self._by_worker.setdefault(worker, {})[request_id] = assignment
        if seconds is not None:
            self._ends.set(request_id, seconds, now)

    def meant(self, worker: Peer, reply: Reply) -> Assignment[Work] | None:
        """The job that a reply ends: the one that it names; else the one whose id it has itself, or the oldest, of
        those that this worker has. None if there is none, as for a second reply."""
        if reply.request is not None:
            return self._by_id.get(reply.request)
        own = self._by_worker.get(worker, {})
        request_id = reply.message_id if reply.message_id in own else next(iter(own), None)
        return None if request_id is None else own[request_id]

    def take(self, request_id: bytes) -> Assignment[Work] | None:
        """The job is in nobody's hands any more. None if it was not."""
        assignment = self._by_id.pop(request_id, None)
        if assignment is not None:
            self._ends.discard(request_id)
            self._returns.discard(request_id)
            own = self._by_worker[assignment.worker]
            del own[request_id]
            if not own:
                del self._by_worker[assignment.worker]
        return assignment

    def worker_lost(self, worker: Peer, grace_seconds: float, now: float) -> None:
        """A worker is there no more. What it has is taken back after so long, if nobody replies to it until then; what
        one of the same name had before, as was said then."""
        for request_id in self._by_worker.get(worker, {}):
            if request_id not in self._returns:
                self._returns.set(request_id, grace_seconds, now)

    def overdue(self, now: float) -> Sequence[Assignment[Work]]:
        """Take those that have not ended in their time."""
        return self._taken(self._ends.passed(now))

    def returned(self, now: float) -> Sequence[Assignment[Work]]:
        """Take those back whose worker was lost long enough ago."""
        return self._taken(self._returns.passed(now))

    def _taken(self, request_ids: Sequence[bytes]) -> Sequence[Assignment[Work]]:
        return [assignment for request_id in request_ids if (assignment := self.take(request_id)) is not None]
