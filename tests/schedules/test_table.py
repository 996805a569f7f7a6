"""What is due, what was missed, and what happens then?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fmqbus.errors import Overloaded, PeerError
from fmqbus.schedules.table import LATE_SECONDS, MOST_AT_ONCE, Due, Missed, Schedule, Schedules, begin
from fmqbus.schedules.timing import Cron, Every, Timing

NOW = 1_795_824_000.0  # a midnight, UTC


def make(*schedules: Schedule) -> Schedules:
    table = Schedules(10)
    for schedule in schedules:
        table.put(schedule)
    return table


def every(seconds: float = 60, key: str = "a", now: float = NOW, **more: Any) -> Schedule:
    return begin(key, Every(seconds), "what", now, **more)


def runs(table: Schedules, now: float) -> list[int]:
    return [due.runs for due in table.take_due(now)]


def test_it_runs_at_once_and_then_at_its_interval() -> None:
    """That is the default. (eMQP, Headers)"""
    table = make(every())
    assert runs(table, NOW) == [1]
    assert runs(table, NOW + 59) == []
    assert table.next_due() == NOW + 60
    assert runs(table, NOW + 60) == [1]


def test_with_nohaste_it_waits_for_its_first_interval() -> None:
    """Or for its first time by cron. (eMQP, Headers)"""
    table = make(every(at_once=False), begin("b", Cron("1 0 * * *"), "what", NOW, at_once=False))
    assert runs(table, NOW) == []
    assert [due.schedule.key for due in table.take_due(NOW + 60)] == ["a", "b"]


def test_it_runs_so_often_in_all_and_then_ends() -> None:
    """EventMQ, run_count: the run at once is one of them. (reading 51)"""
    table = make(every(runs=2))
    assert runs(table, NOW) == [1]
    (last,) = table.take_due(NOW + 60)
    assert (last.runs, last.has_ended) == (1, True)
    assert len(table) == 0
    assert table.next_due() is None


def test_the_right_one_ends_when_it_has_run_out() -> None:
    """EventMQ once ended another; Q#57."""
    table = make(every(key="a", runs=1), every(key="b"))
    table.take_due(NOW)
    assert [schedule.key for schedule in table] == ["b"]


def test_one_of_the_same_key_takes_the_place_of_the_former() -> None:
    """As with EventMQ; nothing of the former remains. (reading 52)"""
    table = make(every(), every(3600, at_once=False))
    assert len(table) == 1
    assert runs(table, NOW + 60) == []
    assert table.next_due() == NOW + 3600


def test_removed_it_runs_no_more() -> None:
    """Also one that goes by cron, which EventMQ cannot remove."""
    table = make(begin("a", Cron("* * * * *"), "what", NOW))
    assert table.remove("a") is not None
    assert table.remove("a") is None
    assert table.find("a") is None
    assert runs(table, NOW + 600) == []


@pytest.mark.parametrize("timing", [Every(3600), Cron("0 * * * *")])
@pytest.mark.parametrize(("missed", "expected"), [(Missed.SKIP, 0), (Missed.ONCE, 1), (Missed.ALL, 11)])
def test_after_sleep_each_policy_does_what_it_says(timing: Timing, missed: Missed, expected: int) -> None:
    """Skip, once, all; and then everything is as if nothing had been missed. (reading 53)"""
    table = make(begin("a", timing, "what", NOW, missed=missed, at_once=False))
    (due,) = table.take_due(NOW + 11 * 3600 + LATE_SECONDS + 1)
    assert due.runs == expected
    assert due.since == NOW + 3600
    assert table.next_due() == NOW + 12 * 3600


@pytest.mark.parametrize("missed", [Missed.SKIP, Missed.ONCE])
def test_no_burst_after_sleep(missed: Missed) -> None:
    """A year of every minute is one run at most. (reading 53)"""
    table = make(every(1, key="interval", missed=missed), begin("cron", Cron("* * * * *"), 0, NOW, missed=missed))
    assert sum(runs(table, NOW + 366 * 86_400 + 30)) <= 2
    assert runs(table, NOW + 366 * 86_400 + 30) == []


def test_what_is_a_little_late_is_not_missed() -> None:
    """Timers and busy machines are no misses, whatever the policy."""
    for missed in Missed:
        table = make(every(3600, missed=missed))
        assert runs(table, NOW + LATE_SECONDS) == [1]


def test_whoever_skips_still_runs_what_has_just_come() -> None:
    """Of many that were due, the last is on time."""
    table = make(every(10, missed=Missed.SKIP))
    assert runs(table, NOW + 100_000) == [1]


def test_all_that_was_missed_comes_in_pieces() -> None:
    """Nothing is lost, and nothing keeps others waiting."""
    table = make(every(1, missed=Missed.ALL))
    end = NOW + 2.5 * MOST_AT_ONCE
    counts: list[int] = []
    while pieces := runs(table, end):
        counts += pieces
        assert len(counts) < 10
    assert counts == [MOST_AT_ONCE, MOST_AT_ONCE, MOST_AT_ONCE // 2 + 1]


def test_what_was_missed_does_not_run_more_often_than_it_may() -> None:
    """Its count ends it in the middle."""
    (due,) = make(every(1, missed=Missed.ALL, runs=3)).take_due(NOW + 100)
    assert (due.runs, due.has_ended) == (3, True)


def test_what_has_been_due_for_longest_comes_first() -> None:
    """And only so much at a time."""
    table = make(*(every(60, key=key, now=NOW + offset) for key, offset in [("c", 2), ("a", 0), ("b", 1)]))
    assert [due.schedule.key for due in table.take_due(NOW + 5, most=2)] == ["a", "b"]
    assert [due.schedule.key for due in table.take_due(NOW + 5)] == ["c"]


def test_a_schedule_is_complete_in_itself() -> None:
    """Kept somewhere and put back, it goes on where it was."""
    (due,) = make(every(runs=5)).take_due(NOW)
    restored = make(due.schedule)
    assert restored.next_due() == NOW + 60
    assert [due.schedule.runs_left for due in restored.take_due(NOW + 60)] == [3]


def test_a_clock_that_is_set_back_does_not_stop_it() -> None:
    """It had gone wrong by years, and was put right."""
    table = make(every(60), begin("cron", Cron("*/5 * * * *"), "what", NOW))
    table.take_due(NOW + 3 * 366 * 86_400)
    table.take_due(NOW)
    assert table.next_due() == NOW + 60
    assert sorted(schedule.due for schedule in table) == [NOW + 60, NOW + 300]


def test_a_clock_that_is_trimmed_changes_nothing() -> None:
    """That happens all the time."""
    table = make(every(60))
    table.take_due(NOW)
    table.take_due(NOW - 1)
    assert table.next_due() == NOW + 60


def test_that_a_clock_was_set_back_shows_also_where_nothing_was_due_yet() -> None:
    """It is enough that the table was told the time."""
    table = make(every(60, at_once=False))
    table.tell_time(NOW)
    assert runs(table, NOW - 3600) == []
    assert table.next_due() == NOW - 3540


def test_very_many_are_reckoned_anew_in_pieces() -> None:
    """And whoever asks is told that there is more to do."""
    table = make(*(every(60, key=key, now=NOW, at_once=False) for key in "abc"))
    table.tell_time(NOW)
    pieces = 0
    while not pieces or table.is_in_doubt:
        assert table.take_due(NOW - 3600, most=1) == []
        pieces += 1
    assert pieces == 3
    assert {schedule.due for schedule in table} == {NOW - 3540}


def test_what_was_kept_is_reckoned_anew_in_case_the_clock_was_set_back() -> None:
    """What is due is due nevertheless; there may be too many."""
    table = Schedules(1)
    for key, due in (("far", NOW + 366 * 86_400), ("due", NOW - 3600), ("soon", NOW + 30)):
        table.bring_back(replace(every(60, key=key), due=due))
    assert [due.schedule.key for due in table.take_due(NOW)] == ["due"]
    assert {schedule.key: schedule.due for schedule in table} == {"far": NOW + 60, "due": NOW + 60, "soon": NOW + 30}


def test_a_paused_one_is_not_due() -> None:
    """Until it is put back as one that goes on."""
    table = make(every(60))
    (schedule,) = table
    table.put(replace(schedule, is_paused=True))
    assert table.next_due() is None
    assert runs(table, NOW + 600) == []
    table.put(replace(schedule, due=NOW + 660))
    assert runs(table, NOW + 660) == [1]


def test_what_never_comes_is_refused() -> None:
    """Rather than kept for nothing."""
    with pytest.raises(PeerError):
        begin("a", Never(), "what", NOW, at_once=False)  # type: ignore[arg-type]


class Never:
    """A timing that has no time."""

    def after(self, due: float, moment: float) -> float | None:
        return None


def test_what_has_no_next_time_ends_with_its_last_run() -> None:
    """As a date that has passed."""
    table = make(begin("a", Never(), "what", NOW))  # type: ignore[arg-type]
    (due,) = table.take_due(NOW)
    assert (due.runs, due.has_ended) == (1, True)
    assert len(table) == 0


def test_there_are_only_so_many() -> None:
    """One more is refused, another of a key that is there is not."""
    table = Schedules(1)
    table.put(every(key="a"))
    with pytest.raises(Overloaded):
        table.put(every(key="b"))
    table.put(every(key="a"))


def test_to_replace_a_schedule_again_and_again_costs_no_memory() -> None:
    """What it leaves behind is cleared away."""
    table = make()
    for number in range(10_000):
        table.put(every(3600 + number, at_once=False))
        if number % 2:
            table.remove("a")
    assert len(table._heap) <= 3 * MOST_AT_ONCE


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(1, 50)),
            st.tuples(st.just("remove"), st.sampled_from("abc"), st.just(0)),
            st.tuples(st.just("pass"), st.just(""), st.integers(1, 100)),
        ),
        max_size=40,
    )
)
def test_what_is_due_is_what_a_plain_look_at_all_finds(steps: list[tuple[str, str, int]]) -> None:
    """However schedules come, go and are replaced."""
    table, plain, now = make(), dict[str, Schedule](), NOW
    for step, key, number in steps:
        if step == "put":
            plain[key] = every(number, key=key, now=now, at_once=bool(number % 2))
            table.put(plain[key])
        elif step == "remove":
            assert (table.remove(key) is None) == (plain.pop(key, None) is None)
        else:
            now += number
        expected = {key for key, schedule in plain.items() if schedule.due <= now}
        taken: dict[str, Due] = {due.schedule.key: due for due in table.take_due(now)}
        assert taken.keys() == expected
        for key, due in taken.items():
            following = plain[key].timing.after(plain[key].due, now)
            assert following is not None
            plain[key] = replace(plain[key], due=following)
            assert due.schedule == plain[key]
        assert table.next_due() == min((schedule.due for schedule in plain.values()), default=None)
