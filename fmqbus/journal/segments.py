"""Where are the frames of a file of the log?

A segment is a file of frames, named by its first offset: ``00000000000000012345.fmqj``, or ``.open`` while the broker
still writes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import attrs

from fmqbus.journal.errors import DamagedFrame
from fmqbus.journal.frames import HEADER_OCTETS, Header, parse_header

CLOSED = ".fmqj"
OPEN = ".open"


@attrs.frozen(slots=True)
class FramePlace:
    """Where a frame stands in its file."""

    position: int
    header: Header

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.position + self.header.frame_octets


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
    with path.open("rb") as file:
        yield from frames_in(file, os.fstat(file.fileno()).st_size if octets is None else octets)


def frames_in(file: BinaryIO, size: int) -> Iterator[FramePlace]:
    """As `frames_of`; the file stands at the body of each."""
    position = 0
    while position < size:
        file.seek(position)
        try:
            header = parse_header(file.read(HEADER_OCTETS))
            if position + header.frame_octets > size:
                raise DamagedFrame("the frame is cut off")
        except DamagedFrame as error:
            raise DamagedFrame(f"{file.name}, frame at {position}: {error}", position) from None
        yield FramePlace(position, header)
        position += header.frame_octets
