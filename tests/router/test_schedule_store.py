"""When is a client told that his schedule is safe, and what is there again after the end of the process?"""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from fmqbus.errors import Overloaded, StoreFailed
from fmqbus.limits import Limits
from fmqbus.schedules.table import Missed, Schedule
from fmqbus.schedules.timing import Cron, Every
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.message_store import MemoryMessageStore
from fmqbus.testing.schedule_store import MemoryScheduleStore
from tests.router.schedules_bus import ScheduledBus
from tests.router.test_queue_store import outcomes

DAY = 86_400
START = 1_795_824_000.0  # a midnight, UTC


class Restarting:
    """A bus with a disk, as it ends and begins again."""

    def __init__(self) -> None:
        self.disk: dict[str, Schedule] = {}
        self.now = START

    def begin(self, **options: Any) -> ScheduledBus:
        """A new process."""
        return ScheduledBus(self.now, schedule_store=MemoryScheduleStore(self.disk), **options)

    def crash(self, bus: ScheduledBus, after: float = 0.0) -> ScheduledBus:
        """It ends without a word, and begins again later."""
        self.disk = dict(self.disk)  # what the former process still writes goes nowhere
        self.now = bus.now() + after
        return self.begin()


def test_a_client_is_told_when_the_store_has_committed() -> None:
    """And not before; it is done meanwhile. Likewise for what is no longer scheduled."""
    store = MemoryScheduleStore(is_slow=True)
    bus = ScheduledBus(schedule_store=store)
    waiting = bus.client.schedule("k", Every(60), b"x", b"q")
    assert bus.pass_(60) == [b"x", b"x"]
    assert outcomes(waiting) == ["waits"]
    store.write()
    assert outcomes(waiting) == ["safe"]
    ended: list[bool] = []
    bus.client.unschedule("k").addCallback(ended.append)
    bus.router.scheduling.edit("k", runs=5).addCallback(ended.append)
    assert ended == [False]  # there is nothing to edit any more
    store.write()
    assert ended == [False, True]
    assert store.kept == {}


def test_what_is_scheduled_is_there_again_and_goes_on_where_it_was() -> None:
    """As it was changed since; what has ended or was removed is not."""
    restarting = Restarting()
    bus = restarting.begin()
    bus.client.schedule("kept", Every(60), b"kept", b"q", at_once=False, runs=5)
    bus.client.schedule("cron", Cron("0 3 * * *", "Europe/Stockholm"), b"cron", b"q", at_once=False)
    bus.client.schedule("edited", Every(60), b"edited", b"q", at_once=False)
    bus.client.schedule("removed", Every(60), b"removed", b"q", at_once=False)
    bus.client.schedule("over", Every(60), b"over", b"q", runs=1)
    bus.client.schedule("paused", Every(60), b"paused", b"q", at_once=False)
    bus.router.scheduling.edit("edited", timing=Every(100), missed=Missed.SKIP)
    bus.router.scheduling.edit("paused", is_paused=True)
    bus.client.unschedule("removed")
    assert sorted(bus.pass_(120)) == [b"edited", b"kept", b"kept", b"over"]
    before = bus.router.scheduling.page()
    bus = restarting.crash(bus)
    after = bus.router.scheduling.page()
    assert [status.schedule for status in after] == [status.schedule for status in before]
    assert [status.schedule.key for status in after] == ["cron", "edited", "kept", "paused"]
    assert sorted(bus.pass_(600, 60)) == [b"edited"] * 6 + [b"kept"] * 3
    assert bus.pass_(3 * 3600, 60).count(b"cron") == 1


@pytest.mark.parametrize(("missed", "runs"), [(Missed.SKIP, 0), (Missed.ONCE, 1), (Missed.ALL, 48)])
def test_what_was_missed_while_there_was_no_bus_is_handled_as_it_says(missed: Missed, runs: int) -> None:
    """As after a sleep. The rest of an hour, and then everything is as ever."""
    restarting = Restarting()
    bus = restarting.begin()
    bus.client.schedule("k", Every(3600), b"x", b"q", at_once=False, missed=missed)
    bus = restarting.crash(bus, after=2 * DAY + 1800)
    assert len(bus.pass_(60)) == runs
    assert bus.pass_(1680, 60) == []
    assert bus.pass_(60) == [b"x"]


def test_a_clock_that_was_set_back_meanwhile_stops_nothing() -> None:
    """It was years ahead, and is put right before the bus begins again."""
    restarting = Restarting()
    restarting.now += 10 * 366 * DAY
    bus = restarting.begin()
    bus.client.schedule("interval", Every(60), b"x", b"q", at_once=False)
    bus.client.schedule("cron", Cron("* * * * *"), b"x", b"q", at_once=False)
    bus.client.schedule("later", Every(7 * DAY), b"never", b"q", at_once=False)
    bus = restarting.crash(bus, after=-10 * 366 * DAY)
    assert len(bus.pass_(240)) in (6, 7, 8)
    assert bus.pass_(7 * DAY, 3600).count(b"never") == 1


def test_a_run_comes_again_if_the_bus_ends_before_it_is_written() -> None:
    """At least once."""
    disk: dict[str, Schedule] = {}
    store = MemoryScheduleStore(disk, is_slow=True)
    bus = ScheduledBus(START, schedule_store=store)
    bus.client.schedule("k", Every(3600), b"x", b"q", at_once=False)
    store.write()
    assert bus.pass_(3600, 60) == [b"x"]
    again = ScheduledBus(bus.now(), schedule_store=MemoryScheduleStore(disk))
    assert again.pass_(60) == [b"x"]


def test_nothing_is_done_or_asked_before_all_is_back() -> None:
    """Neither the schedules nor the queues; then it begins."""

    class Slow(MemoryScheduleStore):
        def recover(self) -> Deferred[Any]:
            self.recovered: Deferred[Any] = Deferred()
            return self.recovered.addCallback(lambda _: super(Slow, self).recover())

    restarting = Restarting()
    restarting.begin().client.schedule("k", Every(60), b"x", b"q", at_once=False)
    store = Slow(restarting.disk)
    bus = ScheduledBus(START + 60, schedule_store=store)
    assert bus.pass_(60) == []
    for ask in (
        lambda: bus.client.schedule("l", Every(60), b"x", b"q"),
        lambda: bus.client.unschedule("k"),
        lambda: bus.router.scheduling.edit("k", runs=1),
    ):
        with pytest.raises(Overloaded) as raised:
            ask()
        assert raised.value.reason == "recovering"
    store.recovered.callback(None)
    assert bus.pass_(0) == [b"x"]


def test_schedules_in_memory_wait_for_durable_queues() -> None:
    """Nothing is lost because the queues are not yet back."""
    router = make_router(message_store=MemoryMessageStore())
    client = MemoryClient(router)
    client.schedule("k", Every(60), b"x", b"q", runs=1)
    router.clock.advance(0)
    assert not router.scheduling.failed
    router.startService()
    router.clock.advance(0)
    assert [status.ready for status in router.queues()] == [1]


def test_a_store_that_fails_is_told_and_what_is_there_goes_on() -> None:
    """For as long as the process lives; nothing new is taken."""
    store = MemoryScheduleStore(is_slow=True)
    bus = ScheduledBus(schedule_store=store)
    waiting = bus.client.schedule("k", Every(60), b"x", b"q")
    store.break_down()
    assert outcomes(waiting) == ["StoreFailed"]
    assert str(bus.router.scheduling.store_failure) == "the disk is broken"
    with pytest.raises(StoreFailed):
        bus.client.schedule("l", Every(60), b"x", b"q")
    with pytest.raises(StoreFailed):
        bus.client.unschedule("k")
    assert bus.pass_(60) == [b"x", b"x"]


def test_that_a_store_has_failed_is_found_out_by_runs_too() -> None:
    """An operator must not have to schedule something to hear of it."""
    store = MemoryScheduleStore()
    bus = ScheduledBus(schedule_store=store)
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False)
    store.break_down()
    bus.pass_(60)
    assert bus.router.scheduling.store_failure is not None


def test_a_message_that_its_queue_could_not_keep_is_a_run_that_came_to_nothing() -> None:
    """The store of the queues has failed."""
    store = MemoryMessageStore()
    bus = ScheduledBus(message_store=store)
    bus.client.schedule("k", Every(60), b"x", b"p", at_once=False)
    store.break_down()
    bus.pass_(120)
    assert bus.failed == {"store-failed": 2}


def test_all_that_was_kept_comes_back_where_there_is_less_room_now() -> None:
    """An operator's lower bound throws nothing away; it refuses what is new."""
    restarting = Restarting()
    bus = restarting.begin()
    for key in "abc":
        bus.client.schedule(key, Every(60), b"x", b"q", at_once=False)
    bus = restarting.begin(limits=Limits(schedules=1, scheduled_octets=1))
    assert len(bus.router.scheduling.page()) == 3
    with pytest.raises(Overloaded):
        bus.client.schedule("d", Every(60), b"", b"q")
    assert told_at_once(bus.router.scheduling.edit("a", runs=1))
    assert len(bus.pass_(60)) == 3


def told_at_once(waiting: Deferred[bool]) -> bool:
    """What it has fired with."""
    results: list[bool] = []
    waiting.addCallback(results.append)
    return results == [True]


def test_a_bus_that_stops_writes_out_what_was_said() -> None:
    """Then a new one has it."""
    disk: dict[str, Schedule] = {}
    bus = ScheduledBus(START, schedule_store=MemoryScheduleStore(disk, is_slow=True))
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False)
    stopped = bus.router.stopService()
    bus.clock.pump([1.0] * 30)
    assert stopped.called
    assert list(disk) == ["k"]
