"""Who does at set times what clients ask for, and who may ask? (eMQP, Scheduler)"""

from __future__ import annotations

import json

import pytest

from fmqbus.protocols.emqp.commands import (
    Ack,
    Goodbye,
    Heartbeat,
    Inform,
    Reply,
    Request,
    Role,
    Schedule,
    SpecifiedGoodbye,
    Status,
    Unschedule,
)
from tests.protocols.emqp.memory_place import JOB, STRANGER, Peer, Place

MINUTELY = Schedule(b"s", b"q", b"", JOB, b"60", b"")
NO_LONGER = Unschedule(b"u", b"anything", b"", JOB, b"-1", b"")


def requests(worker: Peer) -> list[tuple[bytes, bytes]]:
    """The jobs that it has been given: queue, and headers without what the broker adds."""
    return [
        (command.queue, command.headers.replace(b"reply-requested", b"").strip(b","))
        for command in worker.heard()
        if isinstance(command, Request)
    ]


def scheduler_of(place: Place, identity: bytes = b"scheduler") -> Peer:
    """One that has INFORMed."""
    scheduler = place.peer(identity)
    scheduler.say(Inform(b"i", b"", Role.SCHEDULER))
    return scheduler


def let_pass(place: Place, seconds: int, *there: Peer) -> None:
    """These peers beat meanwhile."""
    for _ in range(seconds):
        place.wait(1.0)
        for peer in there:
            peer.say(Heartbeat(b"h"))


def rows(place: Place) -> list[str]:
    """The keys of the bus's own schedules."""
    return [status.schedule.key for status in place.router.scheduling.page()]


@pytest.mark.parametrize(("headers", "at_once"), [(b"", 1), (b"nohaste", 0)])
def test_a_job_comes_at_once_and_then_at_its_interval(headers: bytes, at_once: int) -> None:
    """With `nohaste` only at its interval. (eMQP, Client, Headers)"""
    place = Place()
    worker = place.worker(queues=b"q", credit=9)
    place.peer(b"c").say(Schedule(b"s", b"q", headers, JOB, b"60", b""))
    place.wait(0.1)
    assert requests(worker) == [(b"q", b"")] * at_once
    for _ in range(2):
        let_pass(place, 60, worker)
        assert requests(worker) == [(b"q", b"")]


def test_the_headers_of_a_schedule_are_those_of_its_jobs() -> None:
    """But for those that say when. (eMQP, Client; readings 16 and 51)"""
    place = Place()
    worker = place.worker(queues=b"q", credit=9)
    headers = b"guarantee,run_count:2,retry-count:3,interval:60,own"
    place.peer(b"c").say(Schedule(b"s", b"q", headers, JOB))
    let_pass(place, 300, worker)
    assert [sorted(said.split(b",")) for _, said in requests(worker)] == [[b"guarantee", b"own", b"retry-count:3"]] * 2


def test_a_job_by_cron_goes_to_its_own_queue() -> None:
    """EventMQ's scheduler sends all of them to the default one. (reading 50)"""
    place = Place()
    worker = place.worker(queues=b"q", credit=9)
    place.peer(b"c").say(Schedule(b"s", b"q", b"nohaste", JOB, b"-1", b"* * * * *"))
    let_pass(place, 61, worker)
    assert requests(worker) == [(b"q", b"")]


@pytest.mark.parametrize("schedule", [MINUTELY, Schedule(b"s", b"q", b"", JOB, b"-1", b"* * * * *")])
@pytest.mark.parametrize("unschedule", [NO_LONGER, Unschedule(b"u", b"", b"", JOB)])
def test_what_is_scheduled_ends_by_its_body_alone(schedule: Schedule, unschedule: Unschedule) -> None:
    """Whatever queue is named, in either dialect, by interval and by cron. (eMQP, Client; reading 17)"""
    place = Place()
    worker, client = place.worker(queues=b"q", credit=9), place.peer(b"c")
    client.say(schedule)
    place.wait(0.1)
    requests(worker)
    client.say(unschedule)
    let_pass(place, 120, worker)
    assert requests(worker) == []
    assert rows(place) == []


def test_who_asks_for_a_reply_is_told_that_it_is_scheduled() -> None:
    """Ours: the specification tells nobody anything."""
    place = Place()
    client = place.peer(b"c")
    client.say(Schedule(b"s", b"q", b"reply-requested,nohaste", JOB, b"60", b""))
    [ack] = client.heard()
    assert isinstance(ack, Ack)
    assert ack.acknowledged == b"s"


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(b"s", b"q", b"", JOB),
        Schedule(b"s", b"q", b"", JOB, b"0", b""),
        Schedule(b"s", b"q", b"", JOB, b"1000000000000", b""),
        Schedule(b"s", b"q", b"", JOB, b"-1", b"every day"),
        Schedule(b"s", b"q", b"", b"{}", b"60", b""),
    ],
)
def test_what_cannot_be_meant_is_counted_and_nothing_changes(schedule: Schedule) -> None:
    """Whether the bus would do it, or another one. (reading 16)"""
    place = Place()
    place.peer(b"c").say(schedule)
    scheduler = scheduler_of(place)
    scheduler.heard()
    place.peer(b"c").say(schedule)
    assert scheduler.heard() == []
    assert sum(place.drops.values()) == 2
    assert rows(place) == []


def test_a_scheduler_is_acknowledged_and_beaten_for() -> None:
    """As workers are. (eMQP, Scheduler, Heartbeating)"""
    place = Place("[protocols.emqp]\nnudge = 0\n")
    scheduler = place.peer(b"s")
    scheduler.say(Inform(b"i1", b"", Role.SCHEDULER))
    ack, beat = scheduler.heard_all()
    assert isinstance(ack, Ack)
    assert ack.acknowledged == b"i1"
    assert isinstance(beat, Heartbeat)
    let_pass(place, 30, scheduler)
    assert 9 <= len(scheduler.heard_all()) <= 11


def test_a_scheduler_that_is_silent_or_says_goodbye_is_there_no_more() -> None:
    """The bus does it itself then; one that comes back is one again. (eMQP, Heartbeating)"""
    place = Place()
    client, scheduler = place.peer(b"c"), scheduler_of(place)
    for says_so in (False, True):
        scheduler.heard_all()
        client.say(MINUTELY)
        assert [type(command) for command in scheduler.heard()] == [Schedule]
        if says_so:
            scheduler.say(Goodbye(b"k"))
        else:
            let_pass(place, 17)
        scheduler.heard_all()
        client.say(MINUTELY)
        assert len(rows(place)) == 1
        let_pass(place, 10)
        assert scheduler.heard_parts() == []
        client.say(NO_LONGER)
        scheduler = scheduler_of(place)


def test_while_a_scheduler_is_there_the_bus_does_not_schedule() -> None:
    """SCHEDULE goes to one, UNSCHEDULE to all; both are whole. (readings 46 and 47)"""
    place = Place()
    first, last, client = scheduler_of(place, b"1"), scheduler_of(place, b"2"), place.peer(b"c")
    for scheduler in (first, last):
        scheduler.heard()
    client.say(MINUTELY, Schedule(b"s", b"q", b"interval:5,guarantee", JOB), NO_LONGER, Unschedule(b"u", b"", b"", JOB))
    assert rows(place) == []
    assert [parts[2] for parts in first.heard_parts()] == [b"UNSCHEDULE"] * 2
    told = last.heard_parts()
    assert [parts[2] for parts in told] == [b"SCHEDULE"] * 2 + [b"UNSCHEDULE"] * 2
    for parts in told:
        assert len(parts) == 9
        assert len(json.loads(parts[7])[1]) == 6
    assert [parts[6] for parts in told] == [b"60", b"5", b"-1", b"-1"]


def test_who_asks_for_a_reply_is_told_that_the_scheduler_has_it() -> None:
    """As if it were the bus's own; what becomes of it then is the scheduler's business."""
    place = Place()
    scheduler, client = scheduler_of(place), place.peer(b"c")
    scheduler.heard()
    client.say(Schedule(b"s", b"q", b"reply-requested", JOB, b"60", b""))
    assert [parts[2] for parts in scheduler.heard_parts()] == [b"SCHEDULE"]
    assert [type(command) for command in client.heard()] == [Ack]


def test_what_the_bus_had_to_do_before_goes_on() -> None:
    """Until it is unscheduled, which all are told. (reading 46)"""
    place = Place()
    worker, client = place.worker(queues=b"q", credit=9), place.peer(b"c")
    client.say(MINUTELY)
    place.wait(0.1)
    scheduler = scheduler_of(place)
    let_pass(place, 60, worker, scheduler)
    assert len(requests(worker)) == 2
    client.say(NO_LONGER)
    assert rows(place) == []


def test_jobs_of_a_scheduler_are_jobs_of_a_client() -> None:
    """It asks for replies, and may have them. (reading 49)"""
    place = Place()
    scheduler, worker = scheduler_of(place), place.worker(credit=1)
    scheduler.heard()
    scheduler.request(b"1", b"reply-requested")
    worker.say(Reply(b"x", b'{"value": 3}', b"1"))
    assert [type(command) for command in scheduler.heard()] == [Ack, Reply]


RULES = """
[[access.rules]]
effect = "allow"
actions = {actions}
who = ["remote"]
names = ["q", "default"]
"""


@pytest.mark.parametrize("is_ours", [True, False])
@pytest.mark.parametrize(
    ("actions", "may"), [("[]", False), ('["schedule"]', False), ('["schedule", "enqueue"]', True)]
)
def test_to_schedule_takes_the_right_to_do_so_and_to_enqueue(is_ours: bool, actions: str, may: bool) -> None:
    """Whoever does it: another scheduler hands in jobs with its own rights. (readings 48 and 60)"""
    place = Place(RULES.format(actions=actions) if actions != "[]" else "")
    client = place.peer(b"c", origin=STRANGER)
    scheduler = place.peer(b"none") if is_ours else scheduler_of(place)
    scheduler.heard()
    client.say(MINUTELY)
    assert len(rows(place) if is_ours else scheduler.heard()) == may
    assert place.drops == ({} if may else {"refused": 1})


def test_who_may_not_schedule_for_all_has_no_other_scheduler_end_anything() -> None:
    """Nobody but that knows what its schedules are for. (reading 48)"""
    place = Place(RULES.format(actions='["schedule", "enqueue"]'))
    scheduler = scheduler_of(place)
    scheduler.heard()
    place.peer(b"c", origin=STRANGER).say(NO_LONGER)
    assert scheduler.heard() == []
    place.peer(b"c").say(NO_LONGER)
    assert [type(command) for command in scheduler.heard()] == [Unschedule]
    assert place.drops == {"refused": 1}


def test_who_may_not_schedule_for_all_is_no_scheduler() -> None:
    """He would be given what all others schedule. There is no ACK. (reading 48)"""
    place = Place(RULES.format(actions='["schedule", "enqueue"]'))
    scheduler = place.peer(b"s", origin=STRANGER)
    scheduler.say(Inform(b"i", b"", Role.SCHEDULER))
    assert scheduler.heard_parts() == []
    assert place.drops == {"refused": 1}


def test_a_scheduler_is_told_that_the_broker_goes() -> None:
    """In both dialects, and never by DISCONNECT, over which EventMQ's ends itself. (eMQP, DISCONNECT and KBAI;
    readings 1 and 43)"""
    place = Place()
    scheduler = scheduler_of(place)
    scheduler.heard()
    place.stop_listening()
    assert [type(command) for command in scheduler.heard()] == [Goodbye, SpecifiedGoodbye]


def test_what_is_scheduled_is_told_to_operators() -> None:
    """As EventMQ 0.4 asks for it; in words of ours. (reading 57)"""
    place = Place()
    client, admin = place.peer(b"c"), place.peer(b"a", "admin")
    client.say(Schedule(b"s", b"q", b"nohaste,run_count:3", JOB, b"60", b""))
    admin.say(Status(b"1", b"show_scheduled_jobs"))
    [reply] = admin.heard()
    assert isinstance(reply, Reply)
    [(key, told)] = json.loads(reply.body)["scheduled_jobs"].items()
    assert key == rows(place)[0]
    assert (told["queue"], told["interval"], told["cron"], told["runs_left"]) == ("q", 60.0, None, 3)
    assert told["next_run"] == 60.0
