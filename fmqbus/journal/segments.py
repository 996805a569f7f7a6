"""Which rows are in a file of the log, and how are they read?

A segment is a file of frames, named by its first offset: ``00000000000000012345.fmqj``, or ``.open`` while the broker
still writes it. Frames are found by their headers alone; only those that are asked for are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import attrs
import pyarrow as pa

from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.expand import expand
from fmqbus.journal.frames import HEADER_OCTETS, Header, check_body, parse_header

CLOSED = ".fmqj"
OPEN = ".open"


@attrs.frozen(slots=True)
class FramePlace:
    """Where a frame stands in its file."""

    position: int
    header: Header


def segment_name(first: int, suffix: str = CLOSED) -> str:
    """The file's name of the segment that begins with this offset."""
    return f"{first:020d}{suffix}"


def first_of(name: str) -> int | None:
    """The offset that a segment of this name begins with; None if it is no segment's name."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix in (CLOSED, OPEN) and len(stem) == 20 and stem.isdecimal() else None


def frames_of(path: Path, octets: int | None = None) -> Iterator[FramePlace]:
    """Yield the frames of a segment by their headers, the bodies unread; up to this length of the file, or to its end.

    Raises `DamagedFrame` where whole frames end before that, and `NewerFormat`.
    """
    with _opened(path) as file:
        yield from _frames(file, os.fstat(file.fileno()).st_size if octets is None else octets)


def read_segment(
    path: Path, first: int, end: int, columns: Sequence[str] | None = None, octets: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield rows `first` to `end` (exclusive) of one segment as Arrow batches in the schema, or these columns of it.

    A file that the broker still writes is read up to `octets`, see `fmqbus.journal.folder`. Raises `MissingRows` if it
    has not all of them, `DamagedFrame`, and `NewerFormat`.
    """
    expected = first
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size if octets is None else octets
        for place in _frames(file, size):
            header = place.header
            if header.end <= first:
                continue
            if header.first >= end:
                break
            if header.first > expected:
                raise MissingRows(f"{path}: rows are missing", header.shard, expected, header.first)
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
                raise DamagedFrame(f"{path}, frame at {place.position}: {error}", place.position) from None
            expected = header.end
    if expected < end:
        raise MissingRows(f"{path}: it ends before", -1, expected, end)


def _opened(path: Path) -> BinaryIO:
    return open(path, "rb")


def _frames(file: BinaryIO, size: int) -> Iterator[FramePlace]:
    """Yield frames, the file standing at the body of each."""
    position = 0
    while position < size:
        file.seek(position)
        try:
            header = parse_header(file.read(HEADER_OCTETS), 0)
            if position + header.frame_octets > size:
                raise DamagedFrame("the frame is cut off")
        except DamagedFrame as error:
            raise DamagedFrame(f"{file.name}, frame at {position}: {error}", position) from None
        yield FramePlace(position, header)
        position += header.frame_octets
