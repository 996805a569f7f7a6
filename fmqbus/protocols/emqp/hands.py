"""The jobs that are in somebody's hands, and how each of them ends.

This is where a worker's REPLY, the broker's deadlines and the loss of workers come together: each ends one try of a
job, `fmqbus.protocols.emqp.endings` says what then becomes of it, and whoever waits for it is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fmqbus.errors import PeerError
from fmqbus.interfaces import IRouter
from fmqbus.model import Outcome, PeerFacts
from fmqbus.notices import goes_on
from fmqbus.protocols.emqp.answers import Answers
from fmqbus.protocols.emqp.assignments import Assignments
from fmqbus.protocols.emqp.commands import Progress, Reply
from fmqbus.protocols.emqp.endings import LATE_RESULT, LOST_RESULT, End, end_of, outcome_of
from fmqbus.protocols.emqp.figures import Figures
from fmqbus.protocols.emqp.headers import PROGRESS
from fmqbus.protocols.emqp.job_methods import CALL
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.results import Result, parse_result, write_result
from fmqbus.protocols.emqp.settings import EMQPSettings
from fmqbus.protocols.emqp.wire import Wire
from fmqbus.protocols.emqp.worker import Held, WorkerSession
from fmqbus.waiting import Waiters


class Hands:
    """All jobs in the hands of the workers at one place."""

    def __init__(
        self,
        router: IRouter,
        wire: Wire,
        answers: Answers,
        settings: EMQPSettings,
        flush: Callable[[], None],
        when_lost: Callable[[Peer], None],
    ) -> None:
        """`flush` hands out what has become free, `when_lost` is told of each worker that is lost."""
        self.router = router
        self.wire = wire
        self.figures = Figures()
        self._answers = answers
        self._settings = settings
        self._flush = flush
        self._when_lost = when_lost
        self._jobs: Assignments[Held] = Assignments()
        self._soon: list[Callable[[], object]] = []
        self._emptied: Waiters = Waiters()
        #: Told of the end of each job that a call waits for.
        self.call_ended: Callable[[Peer, Result], None] = lambda client, result: None

    def __len__(self) -> int:
        return len(self._jobs)

    def now(self) -> float:
        """The bus's clock, in seconds."""
        now: float = self.router.clock.seconds()
        return now

    def soon(self, act: Callable[[], object]) -> None:
        """Do this when the bus is through with handing out."""
        if not self._soon:
            self.router.clock.callLater(0, self._act)
        self._soon.append(act)

    def _act(self) -> None:
        acts, self._soon = self._soon, []
        for act in acts:
            goes_on(act, "what had to be done with a job")()
        self._flush()

    # a job is given out

    def free_id(self, wanted: bytes) -> bytes:
        """An id for a REQUEST: the client's own, unless another job has it now."""
        return wanted if wanted and wanted not in self._jobs else self.wire.make_id()

    def is_used_up(self, held: Held) -> bool:
        """It was given out before, by a broker that is no more or to a consumer of another protocol, and nobody said
        how that ended: it may be given out again only if a lost one may."""
        former = held.tries - 1
        return former > 0 and self._outcome(End.LOST, held, former, is_answered=False) is Outcome.REJECT

    def use_up(self, held: Held) -> None:
        """Such a job ends as one whose worker is lost."""
        self._end(held, End.LOST, LOST_RESULT)

    def not_sent(self, peer: Peer, request_ids: Sequence[bytes]) -> None:
        """The worker has gone before these jobs had left for it: others may have them at once, and as many tries. Those
        that it has no longer, since their time is over, may be in another's hands by the same id."""
        for request_id in request_ids:
            if (assignment := self._jobs.find(peer, request_id)) is not None:
                self._jobs.take(request_id)
                assignment.work.worker.give_back(assignment.work)
                self._has_ended(assignment.work)

    def given(self, request_id: bytes, held: Held) -> None:
        """A worker has been sent this job. It may take as long as it says, and then a while."""
        timeout = held.job.headers.timeout
        seconds = self._settings.timeout if timeout is None else float(timeout)
        most = seconds + self._settings.timeout_grace if seconds else None
        self._jobs.assign(request_id, held.worker.peer, held, most, held.since)

    # a job ends

    def replied(self, peer: Peer, facts: PeerFacts, reply: Reply, is_worker: bool) -> bool:
        """A REPLY has come. False if it ends no job: it came late, or twice, or from somebody who is no worker and to
        whom it was not given, or who has not proved what the one has to whom it was."""
        if not is_worker and reply.request is not None and not self._jobs.has(peer, reply.request):
            return False
        assignment = self._jobs.meant(peer, reply)
        if assignment is None or not assignment.work.worker.facts.proves_as(facts):
            return False
        self._jobs.take(assignment.request_id)
        try:
            result = parse_result(reply.body)
            body = reply.body
        except PeerError as error:
            result = Result(f"the worker's result cannot be read: {error}", "BadResult")
            body = write_result(result)
        self._end(assignment.work, end_of(result), result, body)
        return True

    def progressed(self, peer: Peer, facts: PeerFacts, progress: Progress) -> bool:
        """A worker tells how far a job is. False if it does not have it."""
        held = self._jobs.find(peer, progress.request)
        if held is None or not held.work.worker.facts.proves_as(facts):
            return False
        job = held.work.job
        if job.client is not None and job.client[0] != CALL and PROGRESS in job.headers.others:
            self.wire.tell(job.client, Progress(self.wire.make_id(), progress.body, job.message_id))
        return True

    def sweep(self) -> None:
        """Some have taken too long, and some workers are gone for long enough."""
        now = self.now()
        # they have been taken out already: none is to be left because of another
        for assignment in self._jobs.overdue(now):
            goes_on(partial(self._end, assignment.work, End.LATE, LATE_RESULT), "the end of a job")()
        for assignment in self._jobs.returned(now):
            goes_on(partial(self._end, assignment.work, End.LOST, LOST_RESULT), "the end of a job")()
        self._answers.try_again(now)

    def _end(self, held: Held, end: End, result: Result, body: bytes | None = None) -> None:
        self.figures.count(held.consumer.queue, held.worker.peer, self.now() - held.since)
        outcome = self._outcome(end, held, held.tries, is_answered=body is not None)
        client = held.job.client
        if client is None or outcome is Outcome.RELEASE or not held.is_current:
            self._settle(held, outcome, end.value)
        elif client[0] == CALL:
            self.call_ended(client, result)
            self._settle(held, outcome, end.value)
        else:
            # told first: a job that is settled does not come again
            body = write_result(result) if body is None else body
            self._answers.result(
                client, held.job.message_id, body, self.now(), lambda: self._settle(held, outcome, end.value)
            )

    def _outcome(self, end: End, held: Held, tries: int, is_answered: bool) -> Outcome:
        outcome = outcome_of(end, held.job.headers, tries, self._settings.guarantee, is_answered)
        limit = self.router.queue_settings(held.consumer.queue).delivery_limit
        # else the queue would put it away, and nobody would tell the client
        return Outcome.REJECT if outcome is Outcome.RELEASE and 0 < limit <= tries else outcome

    def _settle(self, held: Held, outcome: Outcome, reason: str) -> None:
        held.worker.settle(held, outcome, reason)
        self._has_ended(held)

    def _has_ended(self, held: Held) -> None:
        self._look_at(held.worker)
        if not self._jobs:
            self._emptied.fire()

    def _look_at(self, worker: WorkerSession) -> None:
        """Those that have left are waited for no longer than they have jobs."""
        if worker.has_left and not worker.in_hand:
            worker.bus.close("left")

    # a worker goes

    def left(self, worker: WorkerSession, has_said_so: bool) -> None:
        """It is there no more. What it has it may still reply to, for a while."""
        worker.leave()
        self._look_at(worker)
        grace = self._settings.goodbye_grace if has_said_so else self._settings.grace
        self._jobs.worker_lost(worker.peer, grace, self.now())

    def lost(self, worker: WorkerSession) -> None:
        """ZeroMQ does not find it."""
        if not worker.has_left:
            self._when_lost(worker.peer)

    def ended(self, worker: WorkerSession) -> None:
        """The bus has ended its session: its jobs are back in their queues."""
        for assignment in self._jobs.of(worker.peer):
            if assignment.work.worker is worker:
                self._jobs.take(assignment.request_id)
        if not self._jobs:
            self._emptied.fire()

    def give_up(self) -> None:
        """The broker ends: results that could not be sent are lost, and jobs that have not ended go back."""
        self._answers.give_up()
        for worker in {assignment.work.worker for peer in self.busy() for assignment in self._jobs.of(peer)}:
            worker.ending("the broker ends")

    # for others

    def busy(self) -> list[Peer]:
        """Workers that have jobs."""
        return list(self._jobs.busy)

    def in_hand(self) -> Counter[bytes]:
        """Jobs in somebody's hands, by queue."""
        return Counter(assignment.work.consumer.queue for peer in self._jobs.busy for assignment in self._jobs.of(peer))

    def when_empty(self) -> Any:
        """A new Deferred for each caller, fired when nobody has a job any more."""
        waiting = self._emptied.wait()
        if not self._jobs:
            self._emptied.fire()
        return waiting
