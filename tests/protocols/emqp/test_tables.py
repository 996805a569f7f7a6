"""Who is there, who gets which job, and whose is it? Time is an argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from fmqbus.errors import LocalError, Overloaded
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.assignments import Assignment, Assignments
from fmqbus.protocols.emqp.commands import Reply
from fmqbus.protocols.emqp.presence import BEAT_SECONDS, SILENCE_SECONDS, Peer, Presence
from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.protocols.emqp.schedulers import Schedulers
from fmqbus.protocols.emqp.workers import Workers

A, B, C = ("backend", b"a"), ("backend", b"b"), ("backend", b"\xff\x80")
DEFAULT = (Weighted(10, b"default"),)


@attrs.frozen(eq=False)
class Named:
    """A worker, as far as the table looks at it."""

    peer: Peer
    queues: Sequence[Weighted] = DEFAULT


def make_workers(**limits: Any) -> Workers[Named]:
    return Workers(Limits(**limits), Presence())


# workers


def test_who_informs_is_there_and_serves_its_queues_until_it_leaves() -> None:
    """KBYE, or silence. (eMQP, DISCONNECT and KBAI)"""
    workers = make_workers()
    one, other = Named(A), Named(B, (Weighted(1, b"email"), *DEFAULT))
    for worker in (one, other):
        workers.demand_room(len(worker.queues))
        workers.informed(worker, 0.0)
    assert (list(workers), len(workers), A in workers, workers.find(B)) == ([one, other], 2, True, other)
    assert set(workers.served) == {b"default", b"email"}
    assert workers.left(B) is other
    assert workers.left(B) is None
    assert workers.heard(B, 1.0) is None
    assert workers.serves(b"default")
    assert not workers.serves(b"email")
    assert workers.heard(A, 1.0) is one
    assert workers.silent(SILENCE_SECONDS) == []
    assert workers.silent(1.0 + SILENCE_SECONDS) == [one]
    assert not workers.serves(b"default")


def test_workers_are_bounded_and_so_is_what_they_serve() -> None:
    """Those that are there keep their places."""
    workers = make_workers(connections=1)
    workers.informed(Named(A), 0.0)
    with pytest.raises(Overloaded):
        workers.demand_room(1)
    workers.left(A)
    workers.demand_room(1)
    workers = make_workers(subscriptions=2)
    with pytest.raises(Overloaded):
        workers.demand_room(3)


# presence


def test_whoever_informs_is_told_at_once_and_then_regularly() -> None:
    """A HEARTBEAT at once, and every 3 s, also while REQUESTs flow. (eMQP, Heartbeating; readings 14 and 34)"""
    presence = Presence()
    presence.informed(A, 0.0)
    assert presence.to_beat(0.0) == [A]
    assert presence.to_beat(BEAT_SECONDS - 0.1) == []
    assert presence.to_beat(BEAT_SECONDS) == [A]


def test_nothing_for_whoever_has_not_informed() -> None:
    """Told something, a worker of a former run would never INFORM again. (reading 31)"""
    presence = Presence()
    assert not presence.heard(A, 0.0)
    assert presence.to_beat(10.0) == []
    presence.informed(B, 0.0)
    presence.left(B)
    assert not presence.heard(B, 1.0)
    assert presence.to_beat(10.0) == []


def test_whoever_is_silent_for_long_is_there_no_more() -> None:
    """After 15 s, not 5. Any word counts. (reading 14)"""
    presence = Presence()
    presence.informed(A, 0.0)
    presence.informed(B, 0.0)
    presence.heard(B, 10.0)
    assert (presence.heard_at(A), presence.heard_at(B)) == (0.0, 10.0)
    assert presence.silent(SILENCE_SECONDS - 0.1) == []
    assert presence.silent(SILENCE_SECONDS) == [A]
    assert A not in presence
    assert presence.to_beat(30.0) == [B]
    assert presence.silent(25.0) == [B]
    assert len(presence) == 0


def test_the_scheduler_that_informed_last_is_chosen() -> None:
    """SCHEDULE goes to one, UNSCHEDULE to all. Without one, our own schedules. (reading 46)"""
    schedulers = Schedulers(DEFAULT_LIMITS, Presence())
    assert schedulers.chosen is None
    schedulers.informed(A, 0.0)
    schedulers.informed(B, 1.0)
    assert schedulers.chosen == B
    schedulers.informed(A, 2.0)
    assert schedulers.chosen == A
    assert set(schedulers) == {A, B}
    schedulers.left(A)
    assert schedulers.chosen == B
    assert not schedulers.heard(A, 3.0)
    assert schedulers.heard(B, 3.0)
    assert schedulers.silent(20.0) == [B]
    assert len(schedulers) == 0


def test_schedulers_are_bounded() -> None:
    """As workers are."""
    schedulers = Schedulers(Limits(connections=1), Presence())
    schedulers.informed(A, 0.0)
    with pytest.raises(Overloaded):
        schedulers.informed(B, 0.0)


# assignments


def make_assignments() -> Assignments[str]:
    assignments: Assignments[str] = Assignments()
    assignments.assign(b"1", A, "first", 300.0, 0.0)
    assignments.assign(b"2", A, "second", None, 0.0)
    assignments.assign(b"3", B, "third", 10.0, 0.0)
    return assignments


def replied(assignments: Assignments[str], worker: Peer, reply: Reply) -> Assignment[str] | None:
    """Take the job that a reply ends."""
    assignment = assignments.meant(worker, reply)
    return None if assignment is None else assignments.take(assignment.request_id)


def work_of(assignment: Any) -> str | None:
    return None if assignment is None else assignment.work


def test_a_reply_ends_the_job_that_it_names_wherever_it_comes_from() -> None:
    """By the id of the request, whatever identity the worker has now. (readings 7 and 36)"""
    assignments = make_assignments()
    assert assignments.has(A, b"2")
    assert not assignments.has(C, b"2")
    assert work_of(replied(assignments, C, Reply(b"x", b"", b"2"))) == "second"
    assert work_of(replied(assignments, C, Reply(b"x", b"", b"2"))) is None
    assert len(assignments) == 2


def test_a_reply_without_a_name_ends_the_job_with_its_id_or_the_oldest() -> None:
    """Of that worker only, for nobody may end the jobs of others by guessing. (reading 7)"""
    assignments = make_assignments()
    assert work_of(replied(assignments, A, Reply(b"2", b""))) == "second"
    assert work_of(replied(assignments, A, Reply(b"3", b""))) == "first"
    assert work_of(replied(assignments, A, Reply(b"3", b""))) is None
    assert [job.work for job in assignments.of(B)] == ["third"]


def test_a_reply_for_an_unknown_job_ends_none() -> None:
    """Bad input: it was another broker's, or has ended. (reading 36)"""
    assignments = make_assignments()
    assert replied(assignments, A, Reply(b"1", b"", b"unknown")) is None
    assert len(assignments) == 3


def test_jobs_end_in_time_whatever_the_worker_does() -> None:
    """A process that died never answers. Without end if the job says so. (reading 42)"""
    assignments = make_assignments()
    assert [one.work for one in assignments.overdue(9.0)] == []
    assert [one.work for one in assignments.overdue(10.0)] == ["third"]
    assert [one.work for one in assignments.overdue(1e9)] == ["first"]
    assert [one.work for one in assignments.of(A)] == ["second"]


def test_jobs_of_a_lost_worker_come_back_after_a_grace() -> None:
    """It may only have changed its identity, and reply under the new one. (reading 40)"""
    assignments = make_assignments()
    assignments.worker_lost(A, 20.0, 0.0)
    assert assignments.returned(19.0) == []
    assert work_of(replied(assignments, C, Reply(b"x", b"", b"1"))) == "first"
    assert [one.work for one in assignments.returned(20.0)] == ["second"]
    assert list(assignments.busy) == [B]
    assignments.worker_lost(C, 20.0, 0.0)


def test_an_id_is_in_use_once() -> None:
    """The caller gives fresh ones. (reading 33)"""
    with pytest.raises(LocalError):
        make_assignments().assign(b"1", B, "again", None, 0.0)
