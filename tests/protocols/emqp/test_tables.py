"""Who is there, who gets which job, and whose is it? Time is an argument."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fmqbus.errors import LocalError, Overloaded
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.assignments import Assignments
from fmqbus.protocols.emqp.clients import Submission, Submissions
from fmqbus.protocols.emqp.commands import Reply
from fmqbus.protocols.emqp.deadlines import Deadlines
from fmqbus.protocols.emqp.presence import BEAT_SECONDS, SILENCE_SECONDS, Presence
from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.protocols.emqp.schedulers import Schedulers
from fmqbus.protocols.emqp.workers import Worker, Workers

A, B, C = ("backend", b"a"), ("backend", b"b"), ("backend", b"\xff\x80")
DEFAULT = (Weighted(10, b"default"),)


def make_workers(**limits: Any) -> Workers:
    return Workers(Limits(**limits), Presence())


def with_credit(workers: Workers, peer: tuple[str, bytes], credit: int, *queues: Weighted) -> Worker:
    worker = workers.informed(peer, queues or DEFAULT, 0.0)
    for _ in range(credit):
        assert workers.ready(worker)
    return worker


# credit and weights


def test_a_worker_begins_without_credit_and_each_ready_adds_one() -> None:
    """Checklist, Jobmanager: READY adds 1, REQUEST takes 1; none is implied by INFORM."""
    workers = make_workers()
    worker = workers.informed(A, DEFAULT, 0.0)
    assert workers.best_for(b"default") is None
    workers.ready(worker)
    assert workers.best_for(b"default") is worker
    workers.given(worker)
    assert workers.best_for(b"default") is None


def test_ready_a_million_times_is_bounded() -> None:
    """Bad input: what a worker may hold is."""
    workers = make_workers(consumer_window=3)
    worker = with_credit(workers, A, 3)
    assert not workers.ready(worker)
    assert worker.credit == 3


def test_the_highest_weight_comes_first_while_it_has_credit() -> None:
    """Section 7, meaning of weight."""
    workers = make_workers()
    reluctant = with_credit(workers, A, 2, Weighted(10, b"email"))
    glad = with_credit(workers, B, 1, Weighted(40, b"email"))
    assert workers.best_for(b"email") is glad
    workers.given(glad)
    assert workers.best_for(b"email") is reluctant


def test_among_those_alike_the_one_that_waited_longest_comes_first() -> None:
    """Section 7, meaning of weight: least recently used."""
    workers = make_workers()
    for peer in (A, B, C):
        with_credit(workers, peer, 3)
    order = []
    for _ in range(6):
        worker = workers.best_for(b"default")
        assert worker is not None
        workers.given(worker)
        order.append(worker.peer)
    assert order == [A, B, C, A, B, C]


def test_one_credit_counts_for_all_queues_of_a_worker() -> None:
    """It can do one job, of whichever queue."""
    workers = make_workers()
    worker = with_credit(workers, A, 1, Weighted(40, b"email"), Weighted(10, b"default"))
    assert workers.best_for(b"email") is workers.best_for(b"default") is worker
    workers.given(worker)
    assert workers.best_for(b"email") is workers.best_for(b"default") is None


def test_to_inform_again_begins_anew() -> None:
    """Checklist, Jobmanager: credit and queues are reset, and the worker is not there twice."""
    workers = make_workers()
    with_credit(workers, A, 5)
    again = workers.informed(A, (Weighted(1, b"email"),), 1.0)
    assert len(workers) == 1
    assert again.credit == 0
    assert workers.best_for(b"default") is None
    assert not workers.serves(b"default")
    assert workers.serves(b"email")


def test_who_left_gets_nothing() -> None:
    """KBYE: no more jobs for it."""
    workers = make_workers()
    worker = with_credit(workers, A, 1)
    assert workers.left(A) is worker
    assert workers.left(A) is None
    assert workers.best_for(b"default") is None
    assert workers.heard(A, 1.0) is None
    assert not workers.serves(b"default")


def test_workers_are_bounded_and_so_is_what_they_serve() -> None:
    """Those that are there keep their places."""
    workers = make_workers(connections=1)
    workers.informed(A, DEFAULT, 0.0)
    with pytest.raises(Overloaded):
        workers.informed(B, DEFAULT, 0.0)
    workers.informed(A, DEFAULT, 0.0)
    workers = make_workers(subscriptions=2)
    with pytest.raises(Overloaded):
        workers.informed(A, [Weighted(1, b"%d" % number) for number in range(3)], 0.0)
    assert len(workers) == 0


class ManyWorkers(RuleBasedStateMachine):
    """However workers come, go, work and rest: whoever is best, is so by a plain look at all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.workers = make_workers(consumer_window=3)
        #: Peer → when it was last given a job or credit after none; who waits longest has the least.
        self.since: dict[Any, int] = {}
        self.steps = itertools.count()

    peers = st.sampled_from([A, B, C])
    queue_sets = st.lists(
        st.builds(Weighted, st.integers(1, 3), st.sampled_from([b"x", b"y"])), unique_by=lambda one: one.queue
    )

    @rule(peer=peers, queues=queue_sets)
    def inform(self, peer: Any, queues: list[Weighted]) -> None:
        self.workers.informed(peer, queues, 0.0)

    @rule(peer=peers)
    def ready(self, peer: Any) -> None:
        worker = self.workers.find(peer)
        if worker is not None:
            if worker.credit == 0:
                self.since[peer] = next(self.steps)
            self.workers.ready(worker)

    @rule(queue=st.sampled_from([b"x", b"y"]))
    def give(self, queue: bytes) -> None:
        worker = self.workers.best_for(queue)
        if worker is not None:
            self.workers.given(worker)
            self.since[worker.peer] = next(self.steps)

    @rule(peer=peers)
    def leave(self, peer: Any) -> None:
        self.workers.left(peer)

    @invariant()
    def the_best_is_the_best(self) -> None:
        for queue in (b"x", b"y"):
            free = [
                (-weight, self.since[worker.peer], worker)
                for worker in self.workers
                for weight, name in worker.queues
                if name == queue and worker.credit
            ]
            best = min(free, key=lambda one: one[:2])[2] if free else None
            assert self.workers.best_for(queue) is best


ManyWorkers.TestCase.settings = settings(max_examples=40, deadline=None)
TestManyWorkers = ManyWorkers.TestCase


# presence


def test_whoever_informs_is_told_at_once_and_then_regularly() -> None:
    """Checklist, Jobmanager: a HEARTBEAT at once; All: every 3 s, also while REQUESTs flow."""
    presence = Presence()
    presence.informed(A, 0.0)
    assert presence.to_beat(0.0) == [A]
    assert presence.to_beat(BEAT_SECONDS - 0.1) == []
    assert presence.to_beat(BEAT_SECONDS) == [A]


def test_nothing_for_whoever_has_not_informed() -> None:
    """Checklist, All: told something, a worker of a former run would never INFORM again."""
    presence = Presence()
    assert not presence.heard(A, 0.0)
    assert presence.to_beat(10.0) == []
    presence.informed(B, 0.0)
    presence.left(B)
    assert not presence.heard(B, 1.0)
    assert presence.to_beat(10.0) == []


def test_whoever_is_silent_for_long_is_there_no_more() -> None:
    """Checklist, All: after 15 s, not 5. Any word counts."""
    presence = Presence()
    presence.informed(A, 0.0)
    presence.informed(B, 0.0)
    presence.heard(B, 10.0)
    assert presence.silent(SILENCE_SECONDS - 0.1) == []
    assert presence.silent(SILENCE_SECONDS) == [A]
    assert A not in presence
    assert presence.to_beat(30.0) == [B]
    assert presence.silent(25.0) == [B]
    assert len(presence) == 0


def test_silent_workers_lose_their_credit() -> None:
    """They are told by name, for their jobs."""
    workers = make_workers()
    worker = with_credit(workers, A, 1)
    assert workers.heard(A, 1.0) is worker
    assert workers.silent(SILENCE_SECONDS) == []
    assert workers.silent(1.0 + SILENCE_SECONDS) == [worker]
    assert workers.best_for(b"default") is None


def test_the_scheduler_that_informed_last_is_chosen() -> None:
    """Section 3, Router: SCHEDULE goes to one, UNSCHEDULE to all. Without one, our own schedules."""
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


def work_of(assignment: Any) -> str | None:
    return None if assignment is None else assignment.work


def test_a_reply_ends_the_job_that_it_names_wherever_it_comes_from() -> None:
    """Checklist, Jobmanager: by the id of the request, whatever identity the worker has now."""
    assignments = make_assignments()
    assert work_of(assignments.replied(C, Reply(b"x", b"", b"2"))) == "second"
    assert work_of(assignments.replied(C, Reply(b"x", b"", b"2"))) is None
    assert len(assignments) == 2


def test_a_reply_without_a_name_ends_the_job_with_its_id_or_the_oldest() -> None:
    """Section 7, result REPLY: of that worker only, for nobody may end the jobs of others by guessing."""
    assignments = make_assignments()
    assert work_of(assignments.replied(A, Reply(b"2", b""))) == "second"
    assert work_of(assignments.replied(A, Reply(b"3", b""))) == "first"
    assert work_of(assignments.replied(A, Reply(b"3", b""))) is None
    assert [job.work for job in assignments.of(B)] == ["third"]


def test_a_reply_for_an_unknown_job_ends_none() -> None:
    """Bad input: it was another broker's, or has ended."""
    assignments = make_assignments()
    assert assignments.replied(A, Reply(b"1", b"", b"unknown")) is None
    assert len(assignments) == 3


def test_jobs_end_in_time_whatever_the_worker_does() -> None:
    """Checklist, Jobmanager: a process that died never answers. Without end if the job says so."""
    assignments = make_assignments()
    assert [one.work for one in assignments.overdue(9.0)] == []
    assert [one.work for one in assignments.overdue(10.0)] == ["third"]
    assert [one.work for one in assignments.overdue(1e9)] == ["first"]
    assert [one.work for one in assignments.of(A)] == ["second"]


def test_jobs_of_a_lost_worker_come_back_after_a_grace() -> None:
    """Checklist, Jobmanager: it may only have changed its identity, and reply under the new one."""
    assignments = make_assignments()
    assignments.worker_lost(A, 20.0, 0.0)
    assert assignments.returned(19.0) == []
    assert work_of(assignments.replied(C, Reply(b"x", b"", b"1"))) == "first"
    assert [one.work for one in assignments.returned(20.0)] == ["second"]
    assert list(assignments.busy) == [B]
    assignments.worker_lost(C, 20.0, 0.0)


def test_an_id_is_in_use_once() -> None:
    """The caller gives fresh ones."""
    with pytest.raises(LocalError):
        make_assignments().assign(b"1", B, "again", None, 0.0)


# submissions


def make_submissions(most: int = 10) -> Submissions:
    fresh = itertools.count()
    return Submissions(most, lambda: b"fresh-%d" % next(fresh))


def test_a_job_goes_by_its_clients_id() -> None:
    """Checklist, Client: the id is kept, for tracing from end to end."""
    submissions = make_submissions()
    submission = Submission(A, b"uuid", is_result_wanted=True)
    assert submissions.accept(submission) == b"uuid"
    assert submissions.find(b"uuid") is submission
    assert submissions.ended(b"uuid") is submission
    assert submissions.ended(b"uuid") is None


def test_equal_ids_are_different_jobs() -> None:
    """Checklist, Client: also of one client, for some programs have one id for all; and an empty id is none."""
    submissions = make_submissions()
    ids = [
        submissions.accept(Submission(client, message_id, is_result_wanted=False))
        for client, message_id in [(A, b"uuid"), (B, b"uuid"), (A, b"uuid"), (A, b""), (A, b"fresh-3")]
    ]
    assert len(set(ids)) == 5
    assert b"" not in ids
    found = submissions.find(ids[1])
    assert found is not None
    assert (found.client, found.message_id) == (B, b"uuid")


def test_submissions_are_bounded() -> None:
    """Refused, and counted by the caller: never a silent loss."""
    submissions = make_submissions(1)
    submissions.accept(Submission(A, b"1", is_result_wanted=False))
    with pytest.raises(Overloaded):
        submissions.accept(Submission(A, b"2", is_result_wanted=False))


# deadlines


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from([0.0, 1.0, 2.5]) | st.none(), st.floats(0, 1)), max_size=40
    )
)
def test_deadlines_are_as_a_plain_table_would_have_them(steps: list[tuple[str, float | None, float]]) -> None:
    """However they are set, set anew and ended."""
    deadlines: Deadlines[str] = Deadlines()
    plain: dict[str, float] = {}
    now = 0.0
    for key, seconds, passing in steps:
        if seconds is None:
            deadlines.discard(key)
            plain.pop(key, None)
        else:
            deadlines.set(key, seconds, now)
            plain[key] = now + seconds
        now += passing
        over = sorted(key for key, end in plain.items() if end <= now)
        assert sorted(deadlines.passed(now)) == over
        for key in over:
            del plain[key]
        assert len(deadlines) == len(plain)
        assert all(key in deadlines for key in plain)
