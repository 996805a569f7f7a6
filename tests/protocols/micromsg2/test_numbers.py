"""Do numbers begin with 1, and does 1 follow 65535? (MicroMsg2, MESSAGE frame, batch-ack)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.protocols.micromsg2 import numbers

valid_numbers = st.integers(1, 65_535)


@pytest.mark.parametrize(
    ("number", "steps", "later"),
    [(0, 1, 1), (1, 1, 2), (65_534, 1, 65_535), (65_535, 1, 1), (65_533, 5, 3), (0, 65_535, 65_535), (7, 0, 7)],
)
def test_1_follows_65535(number: int, steps: int, later: int) -> None:
    """Readings 36 and 37; 0 is before the first and never comes again."""
    assert numbers.after(number, steps) == later


@given(valid_numbers, st.integers(0, 65_534))
def test_a_distance_is_how_many_steps_there_are(number: int, steps: int) -> None:
    """Reading 37, across the wrap as well."""
    assert numbers.distance(number, numbers.after(number, steps)) == steps


@given(valid_numbers, st.integers(0, 32_766))
def test_a_number_is_reached_by_those_behind_it(number: int, steps: int) -> None:
    """MicroMsg2, batch-ack: no matter if the number has wrapped."""
    assert numbers.is_reached(number, numbers.after(number, steps))
    assert not numbers.is_reached(numbers.after(number, steps + 1), number)


@given(valid_numbers, st.integers(0, 200_000))
def test_numbers_are_written_in_two_octets_one_after_the_other(first: int, count: int) -> None:
    """MicroMsg2, Definitions: network byte order; also more than a whole round of them."""
    written = numbers.octets_of(first, count)
    assert len(written) == count
    assert numbers.columns_of(first, count) == (b"".join(written)[::2], b"".join(written)[1::2])
    if count:
        assert written[0] == first.to_bytes(2, "big")
        assert written[-1] == numbers.after(first, count - 1).to_bytes(2, "big")
        assert b"\0\0" not in written
