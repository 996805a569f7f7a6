"""Ranges never lose a row nor read one twice, whatever is asked for."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.journal.contents import Piece
from fmqbus.pipeline.ranges import (
    Range,
    bounds,
    from_json,
    limit_octets,
    limit_rows,
    missing,
    present,
    split,
    to_json,
)

_COUNTS = st.dictionaries(st.integers(0, 5), st.integers(0, 1000), min_size=1)


def extent(first: int, end: int, octets: int = 100, shard: int = 0) -> Piece:
    """A segment with these rows."""
    return Piece(shard, Path("there"), False, first, end, 0, 0, octets)


def test_bounds_are_those_of_all_segments_of_a_shard() -> None:
    """In whatever order they are found."""
    extents = [extent(10, 20), extent(0, 10), extent(5, 9, shard=3)]
    assert bounds(extents) == {0: (0, 20), 3: (5, 9)}


def test_what_is_missing_is_found() -> None:
    """A hole in the middle, what has been trimmed, and what is not yet written."""
    extents = [extent(20, 30), extent(5, 10)]
    wanted = Range(0, 0, 35)
    there = present(wanted, extents)
    assert there == [Range(0, 5, 10), Range(0, 20, 30)]
    assert missing(wanted, there) == [Range(0, 0, 5), Range(0, 10, 20), Range(0, 30, 35)]


def test_a_row_that_two_segments_have_is_read_once() -> None:
    """One that is sealed has its sealed form beside it for a moment."""
    assert present(Range(0, 0, 30), [extent(0, 20), extent(0, 20), extent(10, 30)]) == [
        Range(0, 0, 20),
        Range(0, 20, 30),
    ]


@given(st.lists(st.integers(1, 500), max_size=5), st.integers(1, 50))
def test_splitting_keeps_all_rows_in_order(lengths: list[int], least: int) -> None:
    """And gives as many ranges as were asked for, if there are rows enough."""
    ranges, at = [], 0
    for length in lengths:
        ranges.append(Range(0, at, at + length))
        at += length
    parts = split(ranges, least)
    assert [offset for part in parts for offset in range(part.first, part.end)] == list(range(at))
    assert all(part.rows for part in parts)
    assert len(parts) >= min(least, at)


@given(_COUNTS, st.integers(1, 2000))
def test_a_limit_is_shared_by_what_waits(waiting: dict[int, int], most: int) -> None:
    """No more than the limit, all if it fits, and never nothing where something waits."""
    start = dict.fromkeys(waiting, 7)
    heads = {shard: 7 + rows for shard, rows in waiting.items()}
    end = limit_rows(start, heads, most)
    assert all(start[shard] <= end[shard] <= heads[shard] for shard in heads)
    assert sum(end.values()) - sum(start.values()) == min(most, sum(waiting.values()))


def test_a_shard_that_fell_back_does_not_go_backwards() -> None:
    """A journal that was replaced by a shorter one: the batch is empty, and what is wrong is told elsewhere."""
    assert limit_rows({0: 100}, {0: 50}, 10) == {0: 100}


def test_octets_are_counted_by_the_share_of_a_segment() -> None:
    """A tenth of a segment's rows stands for a tenth of its octets."""
    extents = [extent(0, 100, 1000), extent(100, 200, 9000)]
    assert limit_octets({0: 0}, {0: 200}, extents, 10_000) == {0: 200}
    assert limit_octets({0: 0}, {0: 200}, extents, 5_000) == {0: 100}
    assert limit_octets({0: 0}, {0: 100}, extents, 100) == {0: 10}
    assert limit_octets({0: 0}, {0: 200}, extents, 1) == {0: 1}


def test_offsets_in_a_checkpoint_are_always_written_alike() -> None:
    """Spark compares what is written."""
    assert list(to_json({10: 1, 2: 5})) == ["2", "10"]
    assert from_json(to_json({10: 1, 2: 5})) == {2: 5, 10: 1}
