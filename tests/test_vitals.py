"""What the parts of a bus tell of themselves, and what becomes of a part that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from twisted.logger import capturedLogs

from fmqbus.vitals import Checks, Distribution, Kind, Metric, Reading, Readings, Vitals

LOADS = Metric("acme_loads_total", Kind.COUNTER, "Loads")
WEIGHT = Metric("acme_weight", Kind.GAUGE, "Weight")


def told(vitals: Vitals) -> list[Reading]:
    """All readings, in order."""
    return [reading for reading in vitals.readings() if reading is not None]


def test_a_distribution_counts_what_is_no_more_than_each_bound() -> None:
    """A bound itself is below it, and the last has all."""
    distribution = Distribution((1.0, 2.0))
    for amount in (0.5, 1.0, 1.5, 7.0):
        distribution.add(amount)
    assert distribution.up_to() == [(1.0, 2), (2.0, 3), (inf, 4)]
    assert distribution.sum == 10.0


def test_figures_are_asked_for_each_time() -> None:
    """Nothing is gathered before."""
    vitals, loads = Vitals(), iter(range(1, 3))
    vitals.add_figures([LOADS], lambda: iter([Reading(LOADS, next(loads))]))
    assert [reading.value for reading in told(vitals)] == [1]
    assert [reading.value for reading in told(vitals)] == [2]
    assert vitals.metrics == [LOADS]


def test_a_part_that_cannot_tell_hides_none_of_the_others() -> None:
    """What it has told before stays."""

    def half() -> Readings:
        yield Reading(LOADS, 1)
        raise ValueError("broken scales")

    vitals = Vitals()
    vitals.add_figures([LOADS], half)
    vitals.add_figures([WEIGHT], lambda: iter([Reading(WEIGHT, 2)]))
    with capturedLogs() as logs:
        assert told(vitals) == [Reading(LOADS, 1), Reading(WEIGHT, 2)]
    assert len(logs) == 1


def test_others_may_have_their_turn_between_parts() -> None:
    """At least after each."""
    vitals = Vitals()
    for _ in range(3):
        vitals.add_figures([], lambda: iter(()))
    assert list(vitals.readings()) == [None] * 3


def test_checks_tell_what_is_not_well_by_name() -> None:
    """Empty words are none."""
    checks = Checks()
    checks.add("journal", lambda: "the disk is full")
    checks.add("listeners", lambda: None)
    checks.add("others", lambda: "")
    assert checks.results() == {"journal": "the disk is full", "listeners": None, "others": None}


def test_a_check_can_be_replaced() -> None:
    """By one of the same name."""
    checks = Checks()
    checks.add("journal", lambda: "the disk is full")
    checks.add("journal", lambda: None)
    assert checks.results() == {"journal": None}


def test_a_check_that_raises_is_not_well() -> None:
    """Nothing fails open."""
    checks, moods = Checks(), iter(["", None])

    def check() -> str | None:
        mood: Iterator[str | None] = moods
        return (next(mood) or "")[0]

    checks.add("mood", check)
    with capturedLogs() as logs:
        assert "failed" in (checks.results()["mood"] or "")
    assert len(logs) == 1
