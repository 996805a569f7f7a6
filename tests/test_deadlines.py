"""Is the time of each over when it should be?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.deadlines import Deadlines


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


def test_the_first_are_those_that_are_over_first() -> None:
    """Of equally long times; nothing is taken."""
    deadlines: Deadlines[str] = Deadlines()
    for number, key in enumerate("abc"):
        deadlines.set(key, 5.0, float(number))
    deadlines.set("a", 5.0, 3.0)
    assert deadlines.first(2) == ["b", "c"]
    assert len(deadlines) == 3
