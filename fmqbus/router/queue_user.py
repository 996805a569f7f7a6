"""One client's dealings with queues: what it may enqueue to, and its consumers. Made for those that have any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from fmqbus.errors import Overloaded
from fmqbus.model import Action, BatchPart, Consumer, Credit, Message, Outcome, Terms
from fmqbus.router.allowed import Allowed
from fmqbus.router.consumers import Member
from fmqbus.schedules.errands import Errand

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session


class QueueUser:
    """See `ISession`, which has the same words."""

    __slots__ = ("_consumers", "_may_enqueue_to", "_queuing", "_router", "_session")

    def __init__(self, session: Session, router: Router) -> None:
        self._session = session
        self._router = router
        self._queuing = router.queuing
        self._consumers: dict[Consumer, Member] = {}
        self._may_enqueue_to = Allowed(session, Action.ENQUEUE)

    def enqueue(self, queue: bytes, message: Message, terms: Terms) -> Deferred[None] | None:
        self._queuing.demand_open()
        self._may_enqueue_to.demand(queue)
        return self._queuing.enqueue(self._session, queue, message, terms)

    def put_batch(self, producer: str, number: int, errands: Sequence[Errand], part: BatchPart) -> Deferred[bool]:
        self._queuing.demand_open()
        return self._queuing.batches.put(self._session, producer, number, errands, part)

    def consume(
        self, queue: bytes, window: int, weight: int, tag: Any, priority: int, credit: Credit | None
    ) -> Consumer:
        self._queuing.demand_open()
        self._session.demand_at(Action.CONSUME, queue)
        if len(self._consumers) >= self._router.limits.consumers_per_peer:
            raise Overloaded("too many consumers of one client")
        member = self._queuing.settling.consume(self._session, queue, window, weight, tag, priority, credit)
        self._consumers[member] = member
        return member

    def set_credit(self, credit: Credit, messages: int) -> None:
        had_none, credit.left = credit.left <= 0, max(messages, 0)
        if had_none:
            # the others are in line, or have no room of their own
            for consumer in credit.consumers:
                self._queuing.settling.look_at(self._consumers[consumer])

    def set_window(self, consumer: Consumer, window: int) -> None:
        member = self._consumers.get(consumer)
        if member is not None:
            self._queuing.settling.set_window(member, window)

    def settle(self, consumer: Consumer, numbers: Sequence[int], outcome: Outcome, reason: str) -> int:
        member = self._consumers.get(consumer)
        return 0 if member is None else self._queuing.settling.settle(member, numbers, outcome, reason)

    def give_back(self, consumer: Consumer, numbers: Sequence[int]) -> int:
        member = self._consumers.get(consumer)
        return 0 if member is None else self._queuing.settling.give_back(member, numbers)

    def cancel(self, consumer: Consumer) -> None:
        member = self._consumers.pop(consumer, None)
        if member is not None:
            self._queuing.settling.cancel(member)

    def end_forbidden(self) -> list[Consumer]:
        """The policy has changed: cancel the consumers that are no longer allowed; returns them."""
        self._may_enqueue_to.forget()
        principal = self._session.principal
        forbidden = [
            consumer
            for consumer in self._consumers
            if not self._router.authorize(principal, Action.CONSUME, consumer.queue)
        ]
        for consumer in forbidden:
            self.cancel(consumer)
        return forbidden

    def link_cleared(self) -> bool:
        """The client's link has room again, so its consumers may have; False if there are none."""
        for member in self._consumers.values():
            self._queuing.settling.look_at(member)
        return bool(self._consumers)

    def close(self) -> None:
        """The client has gone."""
        for consumer in list(self._consumers):
            self.cancel(consumer)
        self._queuing.table.forget_producer(self._session)
