"""The schedules of a bus: which there are, and doing what is due.

- `fmqbus.schedules.table`: what is due when, by the wall clock; what was missed
- `errands`: what is done at each run; `schedule_keeping`: the store
- `alarm`: the timer

One schedule after the other is taken out of the table, done, and told to the store, within the shares of the reactor's
turns: a hundred thousand that are due at once keep nobody waiting, and one that makes up for what it missed does so in
pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from fmqbus.errors import Overloaded, PeerError, Refused, StoreFailed
from fmqbus.interfaces import ISchedules, IScheduleStore
from fmqbus.model import Action, Principal
from fmqbus.router.alarm import Alarm
from fmqbus.router.errands import Errands, Record
from fmqbus.router.schedule_keeping import ScheduleKeeping
from fmqbus.router.slices import STEP, Slices
from fmqbus.schedules.errands import MOST_KEY_OCTETS, Errand, Order, ScheduleSettings, ScheduleStatus
from fmqbus.schedules.table import Due, Missed, Schedule, Schedules, begin
from fmqbus.schedules.timing import Timing

if TYPE_CHECKING:
    from fmqbus.router.service import Router

_NOTHING_YET = Record()


@implementer(ISchedules)
class Scheduling:
    """See `ISchedules`."""

    def __init__(
        self, router: Router, wall: Callable[[], float], store: IScheduleStore | None, settings: ScheduleSettings
    ) -> None:
        self.settings = settings
        self._router = router
        self._now = wall
        self._limits = router.limits
        self._table = Schedules(router.limits.schedules)
        self._records: dict[str, Record] = {}
        #: What all schedules carry together.
        self._octets = 0
        self._errands = Errands(router)
        self._keeping = ScheduleKeeping(store)
        self._slices = Slices(router.turns, self._end_turn)
        self._alarm = Alarm(
            router.clock, wall, self._slices, self._do_what_is_due, self._table.next_due, self._end_turn
        )
        #: Nothing is done before the queues are back.
        self._runs = store is None and router.queuing.is_open

    # what clients and operators ask

    def put(
        self,
        owner: Principal,
        key: str,
        timing: Timing,
        errand: Errand,
        at_once: bool = True,
        runs: int | None = None,
        missed: Missed | None = None,
    ) -> Deferred[None] | None:
        _check_key(key)
        _check_runs(runs)
        self._keeping.demand_ready()
        order = Order(errand, owner)
        self._errands.demand(order)
        former = self._table.find(key)
        if former is not None:
            self._demand_schedule(owner, former)
        octets = self._octets + _octets(order) - (0 if former is None else _octets(former.what))
        if octets > self._limits.scheduled_octets:
            raise Overloaded("the schedules of this bus carry too much", "schedules")
        now = self._now()
        missed = missed or self.settings.missed
        schedule = begin(key, timing, order, now, missed=missed, at_once=at_once, runs=runs)
        self._table.tell_time(now)
        self._table.put(schedule)
        self._octets = octets
        self._records.pop(key, None)
        return self._keep(schedule)

    def unschedule(self, owner: Principal, key: str) -> Deferred[bool]:
        """See `ISession.unschedule`."""
        self._keeping.demand_ready()
        former = self._table.find(key)
        if former is not None:
            self._demand_schedule(owner, former)
        return self.remove(key)

    def find(self, key: str) -> ScheduleStatus | None:
        schedule = self._table.find(key)
        return None if schedule is None else self._status(schedule)

    def page(self, after: str = "", most: int | None = None, name: bytes | None = None) -> Sequence[ScheduleStatus]:
        later = (one for one in self._table if one.key > after and (name is None or one.what.errand.name == name))
        by_key = attrgetter("key")
        found = sorted(later, key=by_key) if most is None else nsmallest(most, later, key=by_key)
        return [self._status(schedule) for schedule in found]

    def edit(
        self,
        key: str,
        timing: Timing | None = None,
        runs: int | None = None,
        missed: Missed | None = None,
        is_paused: bool | None = None,
    ) -> Deferred[bool]:
        _check_runs(runs)
        self._keeping.demand_ready()
        former = self._table.find(key)
        if former is None:
            return succeed(False)
        edited = replace(
            former,
            timing=timing or former.timing,
            runs_left=runs or former.runs_left,
            missed=missed or former.missed,
            is_paused=former.is_paused if is_paused is None else is_paused,
        )
        if edited.timing != former.timing or (former.is_paused and not edited.is_paused):
            now = self._now()
            self._table.tell_time(now)
            due = edited.timing.after(now, now)
            if due is None:
                raise PeerError("it would never run", "when")
            edited = replace(edited, due=due)
        self._table.put(edited)
        return (self._keep(edited) or succeed(None)).addCallback(lambda _: True)

    def remove(self, key: str) -> Deferred[bool]:
        self._keeping.demand_ready()
        schedule = self._table.remove(key)
        if schedule is None:
            return succeed(False)
        self._forget(schedule)
        return self._keeping.remove(key).addCallback(lambda _: True)

    def run(self, key: str) -> Deferred[bool]:
        schedule = self._table.find(key)
        if schedule is None:
            return succeed(False)
        self._keeping.demand_ready()
        safe = self._errands.do(schedule.what)
        self._end_turn()
        return (safe or succeed(None)).addCallback(lambda _: True)

    @property
    def store_failure(self) -> StoreFailed | None:
        return self._keeping.failure

    def __len__(self) -> int:
        """How many schedules there are."""
        return len(self._table)

    @property
    def octets(self) -> int:
        """What all of them carry together."""
        return self._octets

    @property
    def runs(self) -> int:
        """How many runs there were since the bus was made."""
        return self._errands.runs

    @property
    def failed(self) -> Mapping[str, int]:
        return dict(self._errands.failed)

    # what time does

    def _do_what_is_due(self) -> Iterator[None]:
        while not self._alarm.is_stopped:
            due = self._table.take_due(self._now(), most=1)
            if not due and not self._table.is_in_doubt:
                return
            for one in due:
                self._do(one)
            yield

    def _do(self, due: Due) -> None:
        schedule = due.schedule
        record = self._records.setdefault(schedule.key, Record())
        now = self._now()
        for _ in range(due.runs):
            self._errands.run(schedule, record, now)
        if due.has_ended:
            self._forget(schedule)
        self._keeping.moved(schedule, due.has_ended)

    def _end_turn(self) -> None:
        self._router.flush(None)
        self._keeping.flush()

    # the beginning and the end

    def recover(self) -> Deferred[None]:
        """Bring back what the store keeps, and begin to do what is due; the queues are back. Fails with
        `StoreFailed`."""
        return self._keeping.recover().addCallback(self._bring_back)

    def _bring_back(self, kept: Sequence[Schedule]) -> Deferred[None]:
        def one_by_one() -> Iterator[None]:
            for number, schedule in enumerate(kept):
                self._table.bring_back(schedule)
                self._octets += _octets(schedule.what)
                if number % STEP == 0:
                    yield
            self._keeping.opened()
            self._runs = True
            self._look_ahead()

        return self._slices.run(one_by_one())

    def stop(self) -> None:
        """Do nothing any more that is due: it will be missed."""
        self._alarm.stop()

    def close(self) -> Deferred[None]:
        """Write out what is not yet safe."""
        self.stop()
        return self._keeping.close()

    # parts

    def _keep(self, schedule: Schedule) -> Deferred[None] | None:
        safe = self._keeping.put(schedule)
        self._look_ahead()
        return safe

    def _look_ahead(self) -> None:
        due = self._table.next_due()
        if self._runs and due is not None:
            self._alarm.due(due)

    def _forget(self, schedule: Schedule) -> None:
        self._octets -= _octets(schedule.what)
        self._records.pop(schedule.key, None)

    def _demand_schedule(self, owner: Principal, former: Schedule) -> None:
        if not self._router.authorize(owner, Action.SCHEDULE, former.what.errand.name):
            raise Refused("it is somebody else's")

    def _status(self, schedule: Schedule) -> ScheduleStatus:
        return self._records.get(schedule.key, _NOTHING_YET).status(schedule)


def _octets(order: Order) -> int:
    return order.errand.octets


def _check_key(key: str) -> None:
    try:
        octets = len(key.encode())
    except UnicodeEncodeError as error:
        raise PeerError(str(error), "key") from None
    if not 1 <= octets <= MOST_KEY_OCTETS:
        raise PeerError(f"a key of {octets} octets; 1 to {MOST_KEY_OCTETS} are expected", "key")


def _check_runs(runs: int | None) -> None:
    if runs is not None and runs < 1:
        raise PeerError(f"{runs} runs; 1 at least are expected", "runs")
