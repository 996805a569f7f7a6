"""What do consumers ask of a queue, and what becomes of the messages they held?

What is accepted is done with. What is rejected becomes a dead letter. What is released, and all that a consumer holds
when it goes, takes its old place in the queue, unless it has been delivered too often or has expired meanwhile. That
can be a great many messages: it is done in slices, and nobody is given any of the queue before all have come back, so
that they are in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from twisted.logger import Logger

from fmqbus.errors import LocalError
from fmqbus.model import Credit, Outcome, StoredMessage
from fmqbus.router.consumers import Member
from fmqbus.router.dead_letters import REJECTED, DeadLetters
from fmqbus.router.queue import Queue
from fmqbus.router.queue_table import QueueTable
from fmqbus.router.slices import STEP, Slices

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

_log = Logger()


class Settling:
    """The consumers of one bus, and what they held."""

    def __init__(self, router: Router, table: QueueTable, dead_letters: DeadLetters, slices: Slices) -> None:
        self._router = router
        self._limits = router.limits
        self._table = table
        self._dead_letters = dead_letters
        self._slices = slices

    def consume(
        self,
        session: Session,
        name: bytes,
        window: int,
        weight: int,
        tag: Any,
        priority: int,
        credit: Credit | None,
    ) -> Member:
        """See `ISession.consume`; rights and the name have been looked at."""
        if window < 1 or weight < 1:
            raise LocalError("a window and a weight are 1 or more")
        queue = self._table.queue(name)
        window = min(window, self._limits.consumer_window)
        weight = min(weight, self._limits.consumer_weight)
        member = Member(name, window, weight, tag, priority, credit, session=session, home=queue)
        if credit is not None:
            credit.consumers.append(member)
        self._table.keep(queue)
        queue.consumers.add(member)
        self._table.look_at(queue)
        return member

    def set_window(self, member: Member, window: int) -> None:
        """See `ISession.set_window`."""
        member.window = min(max(window, 0), self._limits.consumer_window)
        self.look_at(member)

    def look_at(self, member: Member) -> None:
        """It may have room again."""
        queue = member.home
        if queue is not None:
            queue.consumers.look_at(member)
            self._table.look_at(queue)

    def settle(self, member: Member, numbers: Sequence[int], outcome: Outcome, reason: str) -> int:
        """See `ISession.settle`."""
        queue, settled = member.home, _taken(member, numbers)
        if queue is None or not settled:
            return 0
        if outcome is Outcome.ACCEPT:
            self._table.accept(queue, settled)
        elif outcome is Outcome.RELEASE:
            self._with_each(queue, settled, self._release)
        else:
            self._with_each(
                queue, settled, lambda queue, stored: self._dead_letters.bury(queue, stored, REJECTED, reason)
            )
        self._settled(member, settled, outcome)
        return len(settled)

    def give_back(self, member: Member, numbers: Sequence[int]) -> int:
        """See `ISession.give_back`."""
        queue, unseen = member.home, _taken(member, numbers)
        if queue is None or not unseen:
            return 0
        self._with_each(queue, unseen, self._undo_delivery)
        self._settled(member, unseen, Outcome.RELEASE)
        return len(unseen)

    def _settled(self, member: Member, messages: Sequence[StoredMessage], outcome: Outcome) -> None:
        if self._router.observers:
            self._router.tell("settled", member.session, member, messages, outcome)
        self.look_at(member)

    def cancel(self, member: Member) -> None:
        """See `ISession.cancel`."""
        queue, member.home = member.home, None
        if queue is not None:
            queue.consumers.remove(member)
            if member.credit is not None:
                member.credit.consumers.remove(member)
            held, member.unsettled = member.unsettled, {}
            self._with_each(queue, held.values(), self._take_back)

    def place(self, queue: Queue, stored: StoredMessage) -> None:
        """A message is to wait in its queue (again), unless it may not."""
        now = self._table.now()
        fault = queue.fault_of(stored, now)
        if fault is None:
            queue.place(stored, now)
        else:
            self._dead_letters.bury(queue, stored, fault)

    def _release(self, queue: Queue, stored: StoredMessage) -> None:
        wait = queue.retry_wait(stored)
        stored.not_before = self._table.now() + wait if wait else 0.0
        self._take_back(queue, stored)

    def _take_back(self, queue: Queue, stored: StoredMessage) -> None:
        stored.is_redelivered = True
        self._return(queue, stored)

    def _undo_delivery(self, queue: Queue, stored: StoredMessage) -> None:
        stored.deliveries -= 1
        self._return(queue, stored)

    def _return(self, queue: Queue, stored: StoredMessage) -> None:
        stored.taken_at = None
        queue.released += 1
        self.place(queue, stored)

    def _with_each(
        self, queue: Queue, settled: Iterable[StoredMessage], act: Callable[[Queue, StoredMessage], None]
    ) -> None:
        """Do this with each message that a consumer held."""

        def one_by_one() -> Iterator[None]:
            for number, stored in enumerate(settled, 1):
                queue.unsettled -= 1
                act(queue, stored)
                if number % STEP == 0:
                    yield
            queue.returns -= 1
            self._table.look_at(queue)

        queue.returns += 1
        self._slices.run(one_by_one()).addErrback(
            lambda failure: _log.failure("queue {queue} stands still", failure, queue=queue.name)
        )


def _taken(member: Member, numbers: Sequence[int]) -> list[StoredMessage]:
    """Take those out of its hands that it has."""
    held = member.unsettled
    return [held.pop(number) for number in numbers if number in held]
