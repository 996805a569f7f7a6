"""One worker, as a client of the bus: what it is given, and what becomes of that. (eMQP, Worker)

It consumes each queue that it serves, the one that it serves more gladly before others, and all on one credit, which is
the READYs that it has said. What it is given is a job as long as it can be read as one; else it is nobody's work, and
becomes a dead letter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Protocol

import attrs

from fmqbus.errors import BusError, Detached, Overloaded, PeerError
from fmqbus.interfaces import IRouter
from fmqbus.model import Consumer, Credit, Outcome, PeerFacts, Principal, StoredMessage
from fmqbus.protocols.emqp.commands import Request
from fmqbus.protocols.emqp.headers import ATTEMPT, REMEMBERED, Headers, write_headers
from fmqbus.protocols.emqp.job_message import JobMessage, read_job_message
from fmqbus.protocols.emqp.peers import PROTOCOL
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.protocols.emqp.wire import Wire
from fmqbus.protocols.quiet_peer import QuietPeer


class Keeper(Protocol):
    """Who knows all jobs that are in somebody's hands."""

    router: IRouter
    wire: Wire

    def soon(self, act: Callable[[], object]) -> None:
        """Do this when the bus is through with handing out."""

    def free_id(self, wanted: bytes) -> bytes:
        """An id for a REQUEST: the client's own, unless another job has it now."""

    def is_used_up(self, held: Held) -> bool:
        """It was given out before, to nobody knows whom, and may not be once more."""

    def use_up(self, held: Held) -> None:
        """Such a job ends."""

    def given(self, request_id: bytes, held: Held) -> None:
        """A worker has been sent this job."""

    def lost(self, worker: WorkerSession) -> None:
        """ZeroMQ does not find it."""

    def ended(self, worker: WorkerSession) -> None:
        """The bus has ended its session."""


@attrs.frozen(slots=True, eq=False)
class Held:
    """A job that a worker has."""

    worker: WorkerSession
    consumer: Consumer
    #: Of the message.
    number: int
    #: How often it was given out by now.
    tries: int
    job: JobMessage
    #: When it was given, in seconds of the bus's clock.
    since: float

    @property
    def is_current(self) -> bool:
        """The bus has not taken it back meanwhile."""
        return self.number in self.consumer.unsettled


class WorkerSession(QuietPeer):
    """See above."""

    def __init__(self, keeper: Keeper, peer: Peer, facts: PeerFacts, queues: Sequence[Weighted]) -> None:
        """Raises `Refused` or `Overloaded` if it may not serve one of them."""
        super().__init__(keeper.router, Principal(PROTOCOL, facts))
        self.peer = peer
        self.facts = facts
        self.queues = queues
        #: It is there no more, and is only waited for.
        self.has_left = False
        #: Jobs that it has not ended.
        self.in_hand = 0
        #: Queues that it may consume no more.
        self._forbidden = 0
        self._keeper = keeper
        self._credit = Credit()
        self._most_credit = keeper.router.limits.consumer_window
        try:
            for weight, queue in queues:
                self.bus.consume(queue, self._most_credit, priority=weight, credit=self._credit)
        except BusError:
            self.bus.close("refused")
            raise

    @property
    def credit(self) -> int:
        """Jobs that it can take now."""
        return self._credit.left

    def ready(self) -> bool:
        """READY: one job more. False if it has said so more often than `Limits.consumer_window` allows."""
        if self.has_left or self._credit.left >= self._most_credit:
            return False
        self.bus.set_credit(self._credit, self._credit.left + 1)
        return True

    def leave(self) -> None:
        """It is there no more; what it has it may still reply to."""
        self.has_left = True
        self.bus.set_credit(self._credit, 0)

    def settle(self, held: Held, outcome: Outcome, reason: str) -> None:
        """A job has ended."""
        self.in_hand -= 1
        self.bus.settle(held.consumer, [held.number], outcome, reason)

    def give_back(self, held: Held) -> None:
        """A job had not left for the worker when it went."""
        self.in_hand -= 1
        self.bus.give_back(held.consumer, [held.number])

    # what comes from the bus

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        for consumer, stored in deliveries:
            try:
                self._give(consumer, stored)
            except PeerError as error:
                self._keeper.soon(self._put_away(consumer, stored.number, str(error)))
            except (Detached, Overloaded) as error:
                self.bus.pause_delivery()
                self._keeper.soon(self._put_back(consumer, stored.number, isinstance(error, Detached)))

    def _give(self, consumer: Consumer, stored: StoredMessage) -> None:
        """Raises `PeerError` if it is no job, `Detached` if it is not there, `Overloaded` if it does not read."""
        keeper, message = self._keeper, stored.message
        job = read_job_message(message)
        held = Held(self, consumer, stored.number, stored.deliveries, job, keeper.router.clock.seconds())
        if keeper.is_used_up(held):
            self.in_hand += 1
            keeper.soon(self._use_up(held))
            return
        request_id = keeper.free_id(job.message_id)
        headers = _told(job.headers, held.tries)
        request = Request(request_id, job.queue_as_written or stored.queue, headers, message.payload)
        if not keeper.wire.send(self.peer, request):
            self.bus.pause_delivery()
        self.in_hand += 1
        keeper.given(request_id, held)
        self.bus.count_sent(1, len(message.payload))

    def _use_up(self, held: Held) -> Callable[[], None]:
        def act() -> None:
            self._keeper.use_up(held)
            self.ready()

        return act

    def _put_away(self, consumer: Consumer, number: int, reason: str) -> Callable[[], None]:
        def act() -> None:
            self.bus.settle(consumer, [number], Outcome.REJECT, reason)
            self.ready()

        return act

    def _put_back(self, consumer: Consumer, number: int, is_lost: bool) -> Callable[[], None]:
        def act() -> None:
            self.bus.give_back(consumer, [number])
            if is_lost:
                self._keeper.lost(self)
            else:
                self.ready()

        return act

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """One that may consume nothing any more is treated as lost: it INFORMs again, and again, and so learns when it
        may."""
        self._forbidden += 1
        if self._forbidden == len(self.queues):
            self._keeper.soon(partial(self._keeper.lost, self))

    def link_clear(self) -> None:
        """Nothing waits for it in ZeroMQ any more."""
        self.bus.resume_delivery()

    def ending(self, reason: str) -> None:
        super().ending(reason)
        self._keeper.ended(self)


@lru_cache(REMEMBERED)
def _told(headers: Headers, tries: int) -> bytes:
    """What concerns the worker of what the client said, and which try it is, if not the first. It is to reply in any
    case."""
    told = attrs.evolve(headers, reply_requested=True, nohaste=False, run_count=None, interval=None, cron=None)
    if tries > 1:
        told = attrs.evolve(told, others=(*headers.others, f"{ATTEMPT}:{tries}"))
    return write_headers(told)
