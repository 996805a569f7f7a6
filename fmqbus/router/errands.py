"""Doing what was scheduled: for its owner, and never in silence if it cannot be done."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus import names
from fmqbus.errors import BusError, InvalidName, Refused
from fmqbus.model import Message, Principal
from fmqbus.notices import Notices
from fmqbus.schedules.errands import Errand, Order, ScheduleStatus
from fmqbus.schedules.table import Schedule

if TYPE_CHECKING:
    from fmqbus.router.service import Router

_log = Logger()


class Record(msgspec.Struct, gc=False):
    """What became of the runs of one schedule."""

    runs: int = 0
    failed: Counter[str] | None = None
    last_run: float | None = None

    def status(self, schedule: Schedule) -> ScheduleStatus:
        """For people."""
        return ScheduleStatus(schedule, self.runs, dict(self.failed or {}), self.last_run)


class Errands:
    """Does them, for one bus."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._notices = Notices(router.clock)
        #: Runs of all schedules, and those that came to nothing by reason.
        self.runs = 0
        self.failed: Counter[str] = Counter()

    def demand(self, order: Order) -> None:
        """Raises `Refused` or `InvalidName` unless the owner, as he is known by now, may have this done."""
        errand = order.errand
        owner = self._router.as_of_now(order.owner)
        if owner is None:
            raise Refused("there is no such user any more", "revoked")
        if names.is_service(errand.name) or (errand.queue is not None and names.is_wild(errand.queue)):
            raise InvalidName(
                "nothing can be scheduled for what is below $, or a queue with a wildcard", "name-reserved"
            )
        for action in errand.actions:
            if not self._router.authorize(owner, action, errand.name):
                raise Refused(f"{action.value} is not allowed")

    def do(self, order: Order) -> Deferred[None] | None:
        """Do it now; returns, raises and fails as `ISession.enqueue` or `publish`."""
        self.demand(order)
        errand = order.errand
        if errand.queue is None:
            self._publish(errand.message, self._router.as_of_now(order.owner) or order.owner)
            return None
        self._router.queuing.demand_open()
        return self._router.queuing.enqueue(None, errand.queue, errand.message, errand.terms)

    def run(self, schedule: Schedule, record: Record, now: float) -> None:
        """Do the errand of a schedule. What it comes to is counted, and told if that is nothing."""
        self.runs += 1
        record.runs += 1
        record.last_run = now
        try:
            safe = self.do(schedule.what)
        except Exception:
            self._failed(Failure(), schedule, record)
        else:
            if safe is not None:
                safe.addErrback(self._failed, schedule, record)

    def _publish(self, message: Message, owner: Principal) -> None:
        router = self._router
        targets = router.table.targets_of(message.topic, owner if names.is_wild(message.topic) else None)
        if message.retain:
            if message.payload:
                router.retained.put(message)
            else:
                router.retained.remove(message.topic)
        if message.payload or not message.retain:
            router.hand_out(message, targets)

    def _failed(self, failure: Failure, schedule: Schedule, record: Record) -> None:
        error = failure.value
        reason = error.reason if isinstance(error, BusError) else "failed"
        self.failed[reason] += 1
        if record.failed is None:
            record.failed = Counter()
        record.failed[reason] += 1
        if not (count := self._notices.due(reason)):
            return
        errand: Errand = schedule.what.errand
        name = names.to_text(errand.name)
        text = "schedule {key!r}, {name}: a run came to nothing: {error}; {count} such"
        if isinstance(error, BusError):
            _log.warn(text, key=schedule.key, name=name, error=error, count=count)
        else:
            _log.failure(text, failure, key=schedule.key, name=name, error=error, count=count)
