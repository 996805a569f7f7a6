"""How are the rows of a segment read? Only the frames that are asked for, each of them checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa

from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.expand import expand
from fmqbus.journal.frames import check_body
from fmqbus.journal.segments import frames_in


def read_segment(
    file: BinaryIO, octets: int, first: int, end: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield rows `first` to `end` (exclusive) of one segment as Arrow batches in the schema, or these columns of it.

    Of the file, so many octets count, see `fmqbus.journal.places.Head`. Raises `MissingRows` if it has not all of them,
    `DamagedFrame`, and `NewerFormat`.
    """
    expected = first
    for place in frames_in(file, octets):
        header = place.header
        if header.end <= first:
            continue
        if header.first >= end:
            break
        if header.first > expected:
            raise MissingRows(f"{file.name}: rows are missing", header.shard, expected, header.first)
        body = file.read(header.body_octets)
        try:
            check_body(header, body, place.position)
            begin = header.first
            for batch in expand(header, body, columns):
                low, high = max(first - begin, 0), min(end - begin, batch.num_rows)
                begin += batch.num_rows
                if low < high:
                    yield batch if high - low == batch.num_rows else batch.slice(low, high - low)
        except DamagedFrame as error:
            raise DamagedFrame(f"{file.name}, frame at {place.position}: {error}", place.position) from None
        expected = header.end
    if expected < end:
        raise MissingRows(f"{file.name}: it ends before", -1, expected, end)
