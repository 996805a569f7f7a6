"""When is it time, also where the clocks change?"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.schedules.timing import MOST_LETTERS, Cron, Every

STOCKHOLM = "Europe/Stockholm"


def at(text: str, zone: str = STOCKHOLM, fold: int = 0) -> float:
    """The time on a clock in a zone; `fold` is 1 for the second coming of an hour."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def times(cron: str, start: float, count: int, zone: str = STOCKHOLM) -> list[str]:
    """What a clock in the zone shows at the next times."""
    timing, moment, shown = Cron(cron, zone), start, []
    for _ in range(count):
        following = timing.after(moment, moment)
        assert following is not None
        assert following > moment
        moment = following
        shown.append(datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%d %H:%M"))
    return shown


def test_intervals_do_not_drift() -> None:
    """However late they are looked at, they follow from the first time."""
    every = Every(60)
    assert every.after(0.0, 0.0) == 60.0
    assert every.after(0.0, 59.9) == 60.0
    assert every.after(0.0, 60.0) == 120.0
    assert every.after(0.0, 1_000_000.5) == 1_000_020.0
    assert every.after(100.0, 5.0) == 100.0


@given(st.integers(1, 10**7), st.floats(0, 2e9), st.floats(0, 1e8))
def test_the_next_time_of_an_interval_is_after_now_and_within_one(seconds: int, due: float, late: float) -> None:
    """Whatever the figures."""
    following = Every(seconds).after(due, due + late)
    assert following is not None
    assert due + late < following <= due + late + seconds * (1 + 1e-6)


def test_cron_goes_by_the_clock_of_its_zone() -> None:
    """The same expression is another time elsewhere. (reading 50)"""
    start = at("2026-07-01T00:00", "UTC")
    assert Cron("0 9 * * *", STOCKHOLM).after(0, start) == at("2026-07-01T07:00", "UTC")
    assert Cron("0 9 * * *", "Asia/Tokyo").after(0, start) == at("2026-07-02T00:00", "UTC")
    assert Cron("0 9 * * *").after(0, start) == at("2026-07-01T09:00", "UTC")


def test_a_time_that_is_left_out_in_spring_is_taken_at_the_end_of_the_gap() -> None:
    """On that day 02:30 does not exist; the job runs nevertheless, and the next day as ever."""
    assert times("30 2 * * *", at("2026-03-28T12:00"), 3) == ["29 03:00", "30 02:30", "31 02:30"]


def test_a_time_that_comes_twice_in_autumn_is_taken_once() -> None:
    """At its first coming."""
    assert times("30 2 * * *", at("2026-10-24T12:00"), 3) == ["25 02:30", "26 02:30", "27 02:30"]
    assert Cron("30 2 * * *", STOCKHOLM).after(0, at("2026-10-24T12:00")) == at("2026-10-25T02:30")


def test_from_within_the_second_coming_the_first_is_not_found_again() -> None:
    """A bus that starts then must not be told of a time that has passed."""
    start = at("2026-10-25T02:10", fold=1)
    assert Cron("30 2 * * *", STOCKHOLM).after(0, start) == at("2026-10-26T02:30")


def test_stars_go_by_what_really_passes() -> None:
    """Every half hour is every half hour, in a day of 23 hours as in one of 25."""
    assert times("*/30 * * * *", at("2026-03-29T01:15"), 4) == ["29 01:30", "29 03:00", "29 03:30", "29 04:00"]
    autumn = times("*/30 * * * *", at("2026-10-25T01:45"), 6)
    assert autumn == ["25 02:00", "25 02:30", "25 02:00", "25 02:30", "25 03:00", "25 03:30"]


def test_days_of_month_and_week_are_as_debians_cron_has_them() -> None:
    """Either will do, unless one of them is a star."""
    start = at("2026-11-01T00:00")
    assert times("0 0 13 * 5", start, 3) == ["06 00:00", "13 00:00", "20 00:00"]
    assert times("0 0 */13 * 5", start, 1) == ["27 00:00"]
    assert times("0 0 L * *", start, 2) == ["30 00:00", "31 00:00"]


def test_what_comes_only_in_leap_years_is_found() -> None:
    """The next one is years away."""
    assert Cron("0 0 29 2 *", "UTC").after(0, at("2026-03-01T00:00", "UTC")) == at("2028-02-29T00:00", "UTC")


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("", "UTC"),
        ("* * * *", "UTC"),
        ("* * * * * *", "UTC"),
        ("60 * * * *", "UTC"),
        ("* * * * 8", "UTC"),
        ("*/0 * * * *", "UTC"),
        ("0 0 31 2 *", "UTC"),
        ("a b c d e", "UTC"),
        ("² * * * *", "UTC"),
        ("* * * * " + "1," * MOST_LETTERS + "1", "UTC"),
        ("* * * * *", "Mars/Olympus"),
        ("* * * * *", "../../etc/passwd"),
        ("* * * * *", "/etc/passwd"),
        ("* * * * *", ""),
        ("* * * * *", "Europe"),
        ("* * * * *", "x" * 5_000),
        ("* * * * *", "UTC\0"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, zone: str) -> None:
    """When it is said, not when it would be due."""
    with pytest.raises(PeerError) as refused:
        Cron(text, zone)
    assert refused.value.reason == "when"


@given(
    st.from_regex(r"(\*|\*/[1-9]|[0-5]) (\*|[0-2],2[0-3]) (\*|29|L) (\*|2|3-10) (\*|0|5#5|7)", fullmatch=True),
    st.sampled_from([STOCKHOLM, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
    st.integers(int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()), int(datetime(2028, 1, 1, tzinfo=UTC).timestamp())),
)
def test_times_always_go_forward(text: str, zone: str, start: int) -> None:
    """In every zone, over every change of clocks; and each is a whole minute."""
    cron, moment = Cron(text, zone), float(start)
    for _ in range(5):
        following = cron.after(moment, moment)
        if following is None:
            return
        assert following > moment
        assert following % 60 == 0
        moment = following
