"""How are rows of a journal read, wherever its files are? In pieces, each of which may go while it is looked for.

A range of offsets gives the same rows whenever it is read, from the log or from tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.segments import FramePlace

#: How often a file is looked for that is not where it was said to be.
_TRIES = 3


class ReadablePiece(Protocol):
    """As `fmqbus.journal.contents.Piece`, wherever it is."""

    @property
    def shard(self) -> int: ...

    @property
    def is_table(self) -> bool: ...

    @property
    def first(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def earliest(self) -> int: ...

    @property
    def latest(self) -> int: ...

    @property
    def octets(self) -> int: ...

    def read(self, first: int, end: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]: ...

    def frames(self) -> Iterator[FramePlace]: ...


class ReadableJournal(ABC):
    """What can be read of a journal whose pieces somebody tells. Its text is where it is."""

    @abstractmethod
    def end(self, shard: int) -> int:
        """The offset that the shard's next row will have."""

    @abstractmethod
    def earliest(self, shard: int) -> int:
        """The offset of the oldest row that is still there; `end` if there is none."""

    @abstractmethod
    def pieces(self, shard: int, first: int = 0, end: int | None = None) -> Sequence[ReadablePiece]:
        """The files with rows of this range, in the order of offsets."""

    def piece_at(self, shard: int, first: int, end: int | None = None) -> ReadablePiece | None:
        """The first of these files."""
        return next(iter(self.pieces(shard, first, end)), None)

    def read(self, shard: int, first: int, end: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield rows `first` to `end` (exclusive) in the schema, or these columns. Raises `MissingRows` for the first
        that are not there, after those before them; `DamagedFrame`; `NewerFormat`."""
        at = first
        tries = 0
        while at < end:
            piece = self.piece_at(shard, at, end)
            if piece is None or piece.first > at:
                tries += 1
                if tries <= _TRIES:  # it may be closed, or sealed, just now
                    continue
                raise self.missing(shard, at, end if piece is None else piece.first)
            try:
                for batch in piece.read(at, min(end, piece.end), columns):
                    yield batch
                    at += batch.num_rows
                    tries = 0
            except FileNotFoundError:
                tries += 1
                if tries > _TRIES:
                    raise self.missing(shard, at, min(end, piece.end)) from None

    def missing(self, shard: int, first: int, end: int) -> MissingRows:
        """The error that says that these are not there, and why."""
        ends = self.end(shard)
        if first >= ends:
            why = f"the journal ends at {ends}"
        elif first < self.earliest(shard):
            why = f"trimmed away: the oldest that are kept begin at {self.earliest(shard)}"
        else:
            why = "a file is missing"
        return MissingRows(
            f"{self}: rows {first} to {end - 1} of shard {shard} are not there: {why}", shard, first, end
        )

    def offset_at(self, shard: int, time: int) -> int:
        """The offset of the first row at or after this time (POSIX microseconds); `end` if there is none. Where the
        clock was set back: the first in the order of offsets."""
        for piece in self.pieces(shard):
            if piece.latest < time:
                continue
            first, end = piece.first, piece.end
            if not piece.is_table:
                found = next((place.header for place in piece.frames() if place.header.latest >= time), None)
                if found is None:
                    continue
                first, end = found.first, found.end
            for batch in piece.read(first, end, ["offset", "time"]):
                late = np.flatnonzero(batch.column("time").view(pa.int64()).to_numpy() >= time)
                if len(late):
                    return int(batch.column("offset")[int(late[0])].as_py())
        return self.end(shard)

    def after_damage(self, shard: int, offset: int) -> int:
        """The offset of the first row behind what is damaged at this one: a frame whose header is whole is skipped
        alone, else its file."""
        piece = self.piece_at(shard, offset)
        if piece is None:
            return self.end(shard)
        if not piece.is_table:
            try:
                for place in piece.frames():
                    if place.header.end > offset:
                        return place.header.end
            except (DamagedFrame, FileNotFoundError):
                pass
        return piece.end
