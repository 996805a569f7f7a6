"""`fmqbus.router.scheduling`: what is scheduled is done when it is due, and by whoever may have it done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from fmqbus.errors import BusError, Detached, InvalidName, Overloaded, PeerError, Refused
from fmqbus.interfaces import ISchedules
from fmqbus.limits import Limits
from fmqbus.model import Action, Message, PeerFacts, Principal, QueueOverflow, QueueSettings, Terms
from fmqbus.schedules.errands import Errand, ScheduleSettings
from fmqbus.schedules.table import MOST_AT_ONCE, Missed
from fmqbus.schedules.timing import Cron, Every
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router
from tests.router.schedules_bus import STOCKHOLM, ScheduledBus

DAY = 86_400


@pytest.fixture
def bus() -> ScheduledBus:
    """A bus in memory."""
    return ScheduledBus()


def told(waiting: Deferred[Any]) -> Any:
    """What it has fired with."""
    results: list[Any] = []
    waiting.addCallback(results.append)
    return results[0] if results else "nothing yet"


def test_it_keeps_the_interface() -> None:
    """With the signatures that management calls."""
    verifyObject(ISchedules, make_router().scheduling)


# what is done


def test_a_message_comes_into_the_queue_at_once_and_at_each_interval(bus: ScheduledBus) -> None:
    """Until it is no longer scheduled."""
    assert bus.client.schedule("k", Every(60), b"x", b"q") is None
    assert bus.pass_(0) == [b"x"]
    assert bus.pass_(59) == []
    assert bus.pass_(121) == [b"x"] * 3
    assert told(bus.client.unschedule("k")) is True
    assert bus.pass_(600) == []
    assert told(bus.client.unschedule("k")) is False


def test_it_may_begin_with_its_first_time_and_end_after_so_many_runs(bus: ScheduledBus) -> None:
    """eMQP: nohaste and run_count."""
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False, runs=2)
    assert bus.pass_(59) == []
    assert bus.pass_(1) == [b"x"]
    assert bus.pass_(600) == [b"x"]
    assert bus.router.scheduling.find("k") is None


def test_it_is_published_where_it_is_for_a_topic(bus: ScheduledBus) -> None:
    """To whoever is there; retained if it says so."""
    listener = MemoryClient(bus.router)
    listener.subscribe(b"news/*")
    bus.client.schedule("k", Every(60), b"x", topic=b"news/a")
    bus.pass_(60)
    assert listener.payloads == [b"x", b"x"]
    bus.client.session.schedule("r", Every(60), Errand(Message(b"news/kept", b"y", retain=True)))
    bus.pass_(0)
    late = MemoryClient(bus.router)
    late.subscribe(b"news/kept")
    assert late.payloads == [b"y"]
    bus.client.session.schedule("r", Every(60), Errand(Message(b"news/kept", b"", retain=True)))
    bus.pass_(0)
    assert bus.router.retained.get(b"news/kept") is None


def test_properties_and_terms_go_with_it(bus: ScheduledBus) -> None:
    """As if it had been enqueued by hand."""
    message = Message(b"t", b"x", properties={"k": "v", "dead-letter-reason": "not really"})
    bus.client.session.schedule("k", Every(60), Errand(message, b"p", Terms(priority=7, time_to_live=5)))
    bus.pass_(0)
    (stored,) = bus.router.peek(b"p", 10)
    assert (stored.message.topic, stored.message.properties, stored.priority) == (b"t", {"k": "v"}, 7)
    assert stored.expires_at == bus.now() + 5


def test_one_of_the_same_key_takes_the_place_of_the_former(bus: ScheduledBus) -> None:
    """Whatever else it says."""
    bus.client.schedule("k", Every(1), b"old", b"q")
    bus.pass_(0)
    bus.client.schedule("k", Every(60), b"new", b"q", at_once=False)
    assert bus.pass_(60) == [b"new"]


def test_it_goes_on_when_the_client_has_gone(bus: ScheduledBus) -> None:
    """It is the bus's own."""
    other = MemoryClient(bus.router)
    other.schedule("k", Every(60), b"x", b"q", at_once=False)
    other.close()
    assert bus.pass_(60) == [b"x"]
    with pytest.raises(Detached):
        other.schedule("k", Every(60), b"x", b"q")
    with pytest.raises(Detached):
        other.unschedule("k")


# the clocks


def test_cron_in_spring_takes_what_is_left_out_at_the_end_of_the_gap() -> None:
    """02:30 does not exist on that day; every day has its run."""
    bus = ScheduledBus("2026-03-28T12:00")
    bus.client.schedule("k", Cron("30 2 * * *", STOCKHOLM), b"x", b"q", at_once=False)
    assert bus.times(2 * DAY, 600) == ["29 03:00", "30 02:30"]


def test_cron_in_autumn_takes_what_comes_twice_once() -> None:
    """At its first coming."""
    bus = ScheduledBus("2026-10-24T12:00")
    bus.client.schedule("k", Cron("30 2 * * *", STOCKHOLM), b"x", b"q", at_once=False)
    assert bus.times(2 * DAY, 600) == ["25 02:30", "26 02:30"]


def test_intervals_know_no_daylight_saving() -> None:
    """A day is 24 hours."""
    bus = ScheduledBus("2026-10-24T12:00")
    bus.client.schedule("k", Every(DAY), b"x", b"q", at_once=False)
    assert bus.times(2 * DAY, 600) == ["25 11:00", "26 11:00"]


@pytest.mark.parametrize(("missed", "runs"), [(Missed.SKIP, 0), (Missed.ONCE, 1), (Missed.ALL, 72)])
def test_after_a_sleep_of_three_days_there_is_no_burst(missed: Missed, runs: int) -> None:
    """But where all is asked for. The machine slept: its timers did not run, and the wall clock is found later."""
    bus = ScheduledBus("2026-11-01T00:30")
    bus.client.schedule("k", Cron("0 * * * *"), b"x", b"q", at_once=False, missed=missed)
    bus.set_clock(3 * DAY)
    assert len(bus.pass_(60)) == runs
    assert bus.pass_(25 * 60, 60) == []
    assert bus.pass_(5 * 60, 60) == [b"x"]


def test_what_is_missed_is_handled_as_configured_if_it_says_nothing() -> None:
    """The bus's own setting."""
    bus = ScheduledBus(schedule_settings=ScheduleSettings(missed=Missed.ALL))
    bus.client.schedule("k", Every(3600), b"x", b"q", at_once=False)
    bus.set_clock(10 * 3600)
    assert len(bus.pass_(60)) == 10


def test_all_that_was_missed_comes_even_if_it_is_very_much() -> None:
    """In pieces."""
    bus = ScheduledBus()
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False, missed=Missed.ALL)
    bus.set_clock(60 * (5 * MOST_AT_ONCE + 7))
    assert len(bus.pass_(60)) == 5 * MOST_AT_ONCE + 8


@pytest.mark.parametrize("back", [3600, 10 * 366 * DAY])
def test_a_clock_that_is_set_back_neither_stops_nor_floods_it(back: float) -> None:
    """Found out within a minute; then it goes by the clock as it is now."""
    bus = ScheduledBus()
    bus.client.schedule("interval", Every(60), b"i", b"q", at_once=False)
    bus.client.schedule("cron", Cron("*/5 * * * *", STOCKHOLM), b"c", b"q", at_once=False)
    bus.pass_(30)
    bus.set_clock(-back)
    payloads = bus.pass_(600)
    assert payloads.count(b"i") in (8, 9)
    assert payloads.count(b"c") == 2


def test_a_clock_that_is_set_back_by_years_is_no_long_work_at_once() -> None:
    """Very many are reckoned anew in turns; see `test_schedule_slices`."""
    bus = ScheduledBus()
    for number in range(500):
        bus.client.schedule(f"{number}", Every(60), b"x", b"q", at_once=False)
    bus.pass_(30)
    bus.set_clock(-366 * DAY)
    assert len(bus.pass_(121)) == 500


# rights


@pytest.mark.parametrize("action", [Action.SCHEDULE, Action.ENQUEUE])
def test_to_schedule_takes_the_right_to_do_so_and_to_do_it_oneself(action: Action) -> None:
    """At the name that it is for."""
    policy = OpenPolicy()
    policy.deny(action, b"q")
    bus = ScheduledBus(authorizers=[policy])
    with pytest.raises(Refused):
        bus.client.schedule("k", Every(60), b"x", b"q")
    assert bus.router.scheduling.page() == []


@pytest.mark.parametrize("action", [Action.SCHEDULE, Action.PUBLISH, Action.RETAIN])
def test_the_same_for_a_topic(action: Action) -> None:
    """With that to retain, if it is to be."""
    policy = OpenPolicy()
    policy.deny(action, b"t")
    bus = ScheduledBus(authorizers=[policy])
    with pytest.raises(Refused):
        bus.client.session.schedule("k", Every(60), Errand(Message(b"t", b"x", retain=True)))


def test_rights_are_asked_again_at_each_run() -> None:
    """Of who scheduled it, as he was then. What is refused is counted, and does not end it."""
    policy = OpenPolicy()
    bus = ScheduledBus(authorizers=[policy])
    bus.client.schedule("k", Every(60), b"x", b"q")
    bus.pass_(0)
    policy.deny(Action.ENQUEUE, b"q")
    bus.router.policy_changed()
    assert bus.pass_(120) == []
    status = bus.router.scheduling.find("k")
    assert status is not None
    assert (status.runs, status.failed, status.last_run) == (3, {"refused": 2}, bus.now())
    assert bus.failed == {"refused": 2}
    policy.denied.clear()
    bus.router.policy_changed()
    assert bus.pass_(60) == [b"x"]


def test_rights_are_those_that_the_owner_has_by_now() -> None:
    """The file of users may have taken away his groups, or himself."""
    by_now: list[Principal | None] = []
    bus = ScheduledBus(as_of_now=lambda principal: by_now[-1] if by_now else principal)
    bus.client.schedule("k", Every(60), b"x", b"q")
    assert bus.pass_(0) == [b"x"]
    by_now.append(None)
    assert bus.pass_(60) == []
    assert bus.failed == {"revoked": 1}


def test_nobody_replaces_or_ends_what_he_may_not_schedule() -> None:
    """Keys are those of the whole bus."""

    class Mine(OpenPolicy):
        def decide(self, principal: Principal, action: Action, name: bytes) -> Any:
            if principal.identity == "eve" and name == b"q":
                return super().decide(principal, Action.SCHEDULE, b"denied")
            return super().decide(principal, action, name)

    policy = Mine()
    policy.deny(Action.SCHEDULE, b"denied")
    bus = ScheduledBus(authorizers=[policy])
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False)
    eve = MemoryClient(bus.router, Principal("memory", PeerFacts("memory"), "eve"))
    with pytest.raises(Refused):
        eve.schedule("k", Every(60), b"mine", b"hers")
    with pytest.raises(Refused):
        eve.unschedule("k")
    eve.schedule("other", Every(60), b"y", b"hers")
    assert bus.pass_(60) == [b"x"]


# what cannot be


@pytest.mark.parametrize(
    ("schedule", "error", "reason"),
    [
        (lambda client: client.schedule("", Every(60), b"x", b"q"), PeerError, "key"),
        (lambda client: client.schedule("ä" * 128, Every(60), b"x", b"q"), PeerError, "key"),
        (lambda client: client.schedule("\ud800", Every(60), b"x", b"q"), PeerError, "key"),
        (lambda client: client.schedule("k", Every(60), b"x", b"q", runs=0), PeerError, "runs"),
        (lambda client: client.schedule("k", Every(60), b"x", b"a/*"), InvalidName, "name-reserved"),
        (lambda client: client.schedule("k", Every(60), b"x", b"$/q"), InvalidName, "name-reserved"),
        (lambda client: client.schedule("k", Every(60), b"x", topic=b"$/signals/stop"), InvalidName, "name-reserved"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    bus: ScheduledBus, schedule: Callable[[MemoryClient], object], error: type[BusError], reason: str
) -> None:
    """And nothing has changed."""
    with pytest.raises(error) as raised:
        schedule(bus.client)
    assert raised.value.reason == reason
    assert bus.router.scheduling.page() == []
    assert bus.pass_(60) == []


@pytest.mark.parametrize("seconds", [0, -5, 0.999, 10**12, float("nan"), float("inf")])
def test_an_interval_has_its_bounds(seconds: float) -> None:
    """A second, and a year."""
    with pytest.raises(PeerError):
        Every(seconds)


def test_there_are_only_so_many_and_they_carry_only_so_much() -> None:
    """To replace one still works, and what has ended makes room."""
    bus = ScheduledBus(limits=Limits(schedules=2, scheduled_octets=100))
    bus.client.schedule("a", Every(60), b"x" * 40, b"q", at_once=False)
    bus.client.schedule("b", Every(60), b"x" * 40, b"q", at_once=False, runs=1)
    for key, octets in (("c", 1), ("a", 90)):
        with pytest.raises(Overloaded):
            bus.client.schedule(key, Every(60), b"x" * octets, b"q")
    bus.client.schedule("a", Every(60), b"x" * 50, b"q", at_once=False)
    bus.pass_(60)
    bus.client.schedule("c", Every(60), b"x" * 40, b"q", at_once=False)
    bus.client.unschedule("a")
    bus.client.schedule("d", Every(60), b"x" * 40, b"q", at_once=False)


@pytest.mark.parametrize("overflow", [QueueOverflow.REFUSE, QueueOverflow.PAUSE])
def test_a_run_that_finds_its_queue_full_is_counted(overflow: QueueOverflow) -> None:
    """Never lost in silence; the bus cannot wait as a producer could. It goes on when there is room."""
    bus = ScheduledBus(queue_settings=QueueSettings(max_messages=2, overflow=overflow))
    bus.client.schedule("k", Every(60), b"x", b"p")
    bus.pass_(300)
    assert [status.ready for status in bus.router.queues()] == [2, 0]
    assert bus.failed == {"queue-full": 4}
    bus.router.purge(b"p")
    bus.pass_(60)
    assert [status.ready for status in bus.router.queues()] == [1, 0]


# looking after them


def test_schedules_are_told_by_key_in_parts(bus: ScheduledBus) -> None:
    """All, or those of one queue or topic."""
    for key in "cab":
        bus.client.schedule(key, Every(60), b"x", b"q")
    bus.client.schedule("d", Every(60), b"x", topic=b"t")

    def keys(*arguments: Any) -> list[str]:
        return [status.schedule.key for status in bus.router.scheduling.page(*arguments)]

    assert keys() == ["a", "b", "c", "d"]
    assert keys("a", 2) == ["b", "c"]
    assert keys("", None, b"t") == ["d"]
    assert keys("", 10, b"q") == ["a", "b", "c"]


def test_an_edited_schedule_goes_on_as_it_is_now(bus: ScheduledBus) -> None:
    """With another timing, from its next time on."""
    scheduling = bus.router.scheduling
    bus.client.schedule("k", Every(3600), b"x", b"q", at_once=False)
    assert told(scheduling.edit("k", timing=Every(60), runs=2, missed=Missed.SKIP)) is True
    assert bus.pass_(600) == [b"x", b"x"]
    assert told(scheduling.edit("k", runs=2)) is False
    with pytest.raises(PeerError):
        scheduling.edit("k", runs=0)


def test_a_pause_holds_it_and_is_not_made_up_for(bus: ScheduledBus) -> None:
    """Nor do its runs count."""
    scheduling = bus.router.scheduling
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False, runs=3, missed=Missed.ALL)
    scheduling.edit("k", is_paused=True)
    assert bus.pass_(600) == []
    scheduling.edit("k", is_paused=False)
    assert bus.pass_(59) == []
    assert bus.pass_(600) == [b"x"] * 3


def test_it_can_be_done_now_beside_its_times(bus: ScheduledBus) -> None:
    """Whoever asks is told if it cannot be."""
    bus.client.schedule("k", Every(60), b"x", b"q", at_once=False, runs=1)
    assert told(bus.router.scheduling.run("k")) is True
    assert bus.heard() == [b"x"]
    assert bus.pass_(60) == [b"x"]
    assert told(bus.router.scheduling.run("k")) is False


def test_a_bus_that_drains_does_nothing_more(bus: ScheduledBus) -> None:
    """What is due then is missed."""
    bus.client.schedule("k", Every(1), b"x", b"p", at_once=False)
    bus.router.drain()
    bus.clock.advance(5)
    assert bus.router.queue(b"p") is None
