"""Which rows does a batch read, and which task reads which of them? Arithmetic on offsets; no I/O, no Spark, no clock.

The same offsets give the same ranges while the journal's segments are the same, and the same rows in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs


@attrs.frozen(order=True)
class Range:
    """Rows of one shard, from `first` up to, and without, `end`."""

    shard: int
    first: int
    end: int

    @property
    def rows(self) -> int:
        """How many rows these are."""
        return self.end - self.first


class Extent(Protocol):
    """A piece of the journal that can be read by itself, such as `fmqbus.journal.contents.Piece`."""

    @property
    def shard(self) -> int: ...

    @property
    def first(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def octets(self) -> int: ...


#: Shard → offset.
Offsets = Mapping[int, int]


def bounds(extents: Sequence[Extent]) -> Mapping[int, tuple[int, int]]:
    """For each shard: the offset of its first row, and the one after its last."""
    found: dict[int, tuple[int, int]] = {}
    for extent in extents:
        first, end = found.get(extent.shard, (extent.first, extent.end))
        found[extent.shard] = min(first, extent.first), max(end, extent.end)
    return found


def present(wanted: Range, extents: Sequence[Extent]) -> Sequence[Range]:
    """The parts of a range that are there, in order and cut where one extent ends and the next begins."""
    found = []
    at = wanted.first
    for extent in sorted((each for each in extents if each.shard == wanted.shard), key=lambda each: each.first):
        first, end = max(at, extent.first), min(wanted.end, extent.end)
        if first < end:
            found.append(Range(wanted.shard, first, end))
            at = end
    return found


def missing(wanted: Range, there: Sequence[Range]) -> Sequence[Range]:
    """The parts of a range that are not in `there`, which is part of it and in order."""
    found = []
    at = wanted.first
    for part in [*there, Range(wanted.shard, wanted.end, wanted.end)]:
        if at < part.first:
            found.append(Range(wanted.shard, at, part.first))
        at = part.end
    return found


def split(ranges: Sequence[Range], least: int) -> Sequence[Range]:
    """The same rows in at least so many ranges, if there are as many rows: long ranges are cut first."""
    total = sum(each.rows for each in ranges)
    if len(ranges) >= least or not total:
        return ranges
    size = max(total // least, 1)
    return [
        Range(each.shard, each.first + at * each.rows // parts, each.first + (at + 1) * each.rows // parts)
        for each in ranges
        for parts in [min(max(-(-each.rows // size), 1), each.rows)]
        for at in range(parts)
    ]


def limit_rows(start: Offsets, heads: Offsets, most: int) -> Offsets:
    """How far a batch goes that may have so many rows: each shard gets its share, by what waits in it.

    Where anything waits, at least one row is read.
    """
    waiting = {shard: max(heads[shard] - start[shard], 0) for shard in heads}
    total = sum(waiting.values())
    if total <= most:
        return {shard: start[shard] + waiting[shard] for shard in heads}
    share = {shard: most * rows // total for shard, rows in waiting.items()}
    # what rounding has left goes to those that lost most by it
    left = most - sum(share.values())
    for shard in sorted(share, key=lambda shard: (-(most * waiting[shard] % total), shard))[:left]:
        share[shard] += 1
    return {shard: start[shard] + share[shard] for shard in heads}


def limit_octets(start: Offsets, heads: Offsets, extents: Sequence[Extent], most: int) -> Offsets:
    """How far a batch goes that may read about so many octets of the journal: rows of one extent count alike.

    Where anything waits, at least one row is read.
    """
    octets = 0.0
    rows = 0
    for extent in extents:
        first, end = start.get(extent.shard), heads.get(extent.shard)
        if first is None or end is None:
            continue
        there = min(end, extent.end) - max(first, extent.first)
        if there > 0:
            rows += there
            octets += extent.octets * there / (extent.end - extent.first)
    if octets <= most:
        return limit_rows(start, heads, max(rows, sum(max(heads[shard] - start[shard], 0) for shard in heads)))
    return limit_rows(start, heads, max(int(rows * most / octets), 1))


def from_json(offsets: Mapping[str, int]) -> Offsets:
    """Offsets as a stream's checkpoint has them."""
    return {int(shard): offset for shard, offset in offsets.items()}


def to_json(offsets: Offsets) -> dict[str, int]:
    """Offsets as a stream's checkpoint has them; always in the same order."""
    return {str(shard): offsets[shard] for shard in sorted(offsets)}
