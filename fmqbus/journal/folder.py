"""Which rows does a journal have, and where? What readers use; they lock nothing and write nothing.

Nothing is listed: closed segments and tables are told by lines, the open segment by the head. A range of offsets gives
the same rows whenever it is read, from the log or from tables.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa

from fmqbus.journal.catalog import GrowingLines, Ranges
from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.places import (
    Head,
    SegmentLine,
    TableLine,
    head_path,
    index_path,
    log_folder,
    manifest_path,
)
from fmqbus.journal.reading import read_segment
from fmqbus.journal.segments import CLOSED, OPEN, frames_of, segment_name
from fmqbus.journal.tables import read_table

#: How often a file is looked for that is not where it was said to be.
_TRIES = 3


@attrs.frozen(slots=True)
class Piece:
    """One file with rows `first` to `end` (exclusive) of a shard. May be pickled, and read elsewhere."""

    shard: int
    #: Of a segment without its suffix, for it changes when the broker closes it.
    path: Path
    is_table: bool
    first: int
    end: int
    earliest: int
    latest: int
    #: How much of the file counts.
    octets: int

    def read(self, first: int, end: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield these rows, as `fmqbus.journal.segments.read_segment` does. Raises `FileNotFoundError` if the file has
        been sealed or trimmed away meanwhile."""
        if self.is_table:
            return read_table(self.path, self.first, first, end, columns)
        return read_segment(self.found(), first, end, columns, self.octets)

    def is_closed(self) -> bool:
        """Whether it is a segment that the broker has closed."""
        return not self.is_table and self.path.with_name(self.path.name + CLOSED).exists()

    def found(self) -> Path:
        """The file under its present name."""
        closed = self.path.with_name(self.path.name + CLOSED)
        opened = self.path.with_name(self.path.name + OPEN)
        return opened if opened.exists() and not closed.exists() else closed


class JournalFolder:
    """One journal, as it is at each call. Ask one and the same again: it reads only what is new. Not for several
    threads."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._manifest = GrowingLines(manifest_path(self.path), TableLine)
        self._tables: dict[int, Ranges[TableLine]] = defaultdict(Ranges)
        self._indexes: dict[int, GrowingLines[SegmentLine]] = {}
        self._segments: dict[int, Ranges[SegmentLine]] = defaultdict(Ranges)

    def __reduce__(self) -> tuple[type[JournalFolder], tuple[Path]]:
        return JournalFolder, (self.path,)

    def shards(self) -> list[int]:
        """The numbers of all shards that have, or had, rows."""
        logs = self.path.joinpath("log").glob("shard=*")
        self._look_at_manifest()
        return sorted({int(log.name.partition("=")[2]) for log in logs} | set(self._tables))

    def end(self, shard: int) -> int:
        """The offset that the shard's next row will have; cheap."""
        head = self._head(shard)
        if head is not None:
            return head.end
        pieces = self.pieces(shard)
        return pieces[-1].end if pieces else 0

    def earliest(self, shard: int) -> int:
        """The offset of the oldest row that is still there; `end` if there is none."""
        pieces = self.pieces(shard)
        return pieces[0].first if pieces else self.end(shard)

    def pieces(self, shard: int, first: int = 0, end: int | None = None) -> list[Piece]:
        """The files with rows of this range, in the order of offsets; where both are there, tables rather than
        segments. Does not look whether any are missing."""
        sealed = self._sealed(shard)
        tables = [
            Piece(shard, self.path / t.file, True, t.first, t.end, t.earliest, t.latest, t.octets)
            for t in sealed.between(first, end)
            if not t.is_removed
        ]
        segments = [piece for piece in self.segments(shard, first, end) if sealed.over(piece.first) is None]
        return sorted(tables + segments, key=lambda piece: piece.first)

    def read(self, shard: int, first: int, end: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield rows `first` to `end` (exclusive) in the schema, or these columns. Raises `MissingRows` for the first
        that are not there, after those before them; `DamagedFrame`; `NewerFormat`."""
        at = first
        tries = 0
        while at < end:
            piece = next(iter(self.pieces(shard, at, end)), None)
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
            f"{self.path}: rows {first} to {end - 1} of shard {shard} are not there: {why}", shard, first, end
        )

    def offset_at(self, shard: int, time: int) -> int:
        """The offset of the first row at or after this time (POSIX microseconds); `end` if there is none. Where the
        clock was set back: the first in the order of offsets."""
        for piece in self.pieces(shard):
            if piece.latest < time:
                continue
            first, end = piece.first, piece.end
            if not piece.is_table:
                places = frames_of(piece.found(), piece.octets)
                found = next((place.header for place in places if place.header.latest >= time), None)
                if found is None:
                    continue
                first, end = found.first, found.end
            for batch in piece.read(first, end, ["offset", "time"]):
                late = np.flatnonzero(batch.column("time").view(pa.int64()).to_numpy() >= time)
                if len(late):
                    return int(batch.column("offset")[int(late[0])].as_py())
        return self.end(shard)

    def tables(self) -> list[TableLine]:
        """All sealed tables that are there, by shard and offset."""
        self._look_at_manifest()
        return [line for _, sealed in sorted(self._tables.items()) for line in sealed if not line.is_removed]

    def segments(self, shard: int, first: int = 0, end: int | None = None) -> list[Piece]:
        """The segments with rows of this range that the log tells of, also those that have been sealed, and are gone;
        in the order of offsets."""
        folder = log_folder(self.path, shard)
        # the head before the lines: what is closed in between is then in both, and not in none
        head = self._head(shard)
        closed = self._closed(shard)
        found = [
            Piece(
                shard,
                folder / segment_name(line.first, ""),
                False,
                line.first,
                line.end,
                line.earliest,
                line.latest,
                line.octets,
            )
            for line in closed.between(first, end)
        ]
        if head is None:
            firsts = sorted(first for path in folder.glob("*" + OPEN) if (first := int(path.stem)) not in closed)
            open_ones: list[tuple[int, int | None]] = [(first, None) for first in firsts]
        else:
            open_ones = [(head.segment, head.octets)] if head.segment not in closed and head.end > first else []
        for segment, octets in open_ones:
            piece = _piece_of(shard, folder, segment, octets)
            if piece is not None and piece.end > first and (end is None or piece.first < end):
                found.append(piece)
        return found

    def leftovers(self, shard: int) -> list[Piece]:
        """The segments whose rows are, or were, in tables."""
        sealed = self._sealed(shard)
        return [piece for piece in self.segments(shard) if sealed.over(piece.first) is not None]

    def _look_at_manifest(self) -> None:
        is_new, lines = self._manifest.news()
        if is_new:
            self._tables.clear()
        for line in lines:
            self._tables[line.shard].add(line)

    def _sealed(self, shard: int) -> Ranges[TableLine]:
        self._look_at_manifest()
        return self._tables[shard]

    def _closed(self, shard: int) -> Ranges[SegmentLine]:
        if shard not in self._indexes:
            self._indexes[shard] = GrowingLines(index_path(self.path, shard), SegmentLine)
        is_new, lines = self._indexes[shard].news()
        if is_new:
            self._segments.pop(shard, None)
        for line in lines:
            self._segments[shard].add(line)
        return self._segments[shard]

    def _head(self, shard: int) -> Head | None:
        for _ in range(3):
            try:
                return Head.decode(head_path(self.path, shard).read_bytes())
            except FileNotFoundError:
                return None
            except DamagedFrame:
                continue
        return None


def _piece_of(shard: int, folder: Path, first: int, octets: int | None) -> Piece | None:
    """The open segment, by its frames; without a head, as far as they are whole."""
    piece = Piece(shard, folder / segment_name(first, ""), False, first, first, 0, 0, 0)
    end, earliest, latest, size = first, 0, 0, 0
    try:
        path = piece.found()
        for place in frames_of(path if path.exists() else piece.found(), octets):
            header = place.header
            earliest = header.earliest if end == first else min(earliest, header.earliest)
            latest = max(latest, header.latest)
            end, size = header.end, place.end
    except FileNotFoundError:
        return None
    except DamagedFrame:
        if octets is not None:
            raise
    return attrs.evolve(piece, end=end, earliest=earliest, latest=latest, octets=size) if size else None
