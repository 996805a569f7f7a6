"""Which files does a journal have, and which rows are in each? Known without Arrow, for a broker tells others of it.

Nothing is listed: closed segments and tables are told by lines, the open segment by the head. What asks here locks
nothing and writes nothing.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from fmqbus.journal.catalog import GrowingLines, Ranges
from fmqbus.journal.errors import DamagedFrame
from fmqbus.journal.places import (
    Head,
    SegmentLine,
    TableLine,
    head_path,
    index_path,
    log_folder,
    manifest_path,
)
from fmqbus.journal.segments import CLOSED, OPEN, FramePlace, frames_of, segment_name

if TYPE_CHECKING:
    import pyarrow as pa


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
        """Yield these rows, as `fmqbus.journal.reading.read_segment` does. Raises `FileNotFoundError` if the file has
        been sealed or trimmed away meanwhile."""
        if self.is_table:
            from fmqbus.journal.tables import read_table

            yield from read_table(self.path, self.first, first, end, columns)
        else:
            from fmqbus.journal.reading import read_segment

            with self.found().open("rb") as file:
                yield from read_segment(file, self.octets, first, end, columns)

    def frames(self) -> Iterator[FramePlace]:
        """The frames of a segment, see `fmqbus.journal.segments.frames_of`. Raises as `read` too."""
        return frames_of(self.found(), self.octets)

    def is_closed(self) -> bool:
        """Whether it is a segment that the broker has closed."""
        return not self.is_table and self.path.with_name(self.path.name + CLOSED).exists()

    def found(self) -> Path:
        """The file under its present name."""
        closed = self.path.with_name(self.path.name + CLOSED)
        opened = self.path.with_name(self.path.name + OPEN)
        return opened if opened.exists() and not closed.exists() else closed


class JournalContents:
    """Of one journal, as they are at each call. Ask one and the same again: it reads only what is new. Not for several
    threads."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._manifest = GrowingLines(manifest_path(self.path), TableLine)
        self._tables: dict[int, Ranges[TableLine]] = defaultdict(Ranges)
        self._indexes: dict[int, GrowingLines[SegmentLine]] = {}
        self._segments: dict[int, Ranges[SegmentLine]] = defaultdict(Ranges)

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
        pieces = self.pieces(shard, most=1)
        return pieces[0].first if pieces else self.end(shard)

    def pieces(self, shard: int, first: int = 0, end: int | None = None, most: int | None = None) -> list[Piece]:
        """The files with rows of this range, in the order of offsets, or so many of them; where both are there, tables
        rather than segments. Does not look whether any are missing."""
        sealed = self._sealed(shard)
        tables = (
            Piece(shard, self.path / t.file, True, t.first, t.end, t.earliest, t.latest, t.octets)
            for t in sealed.between(first, end)
            if not t.is_removed
        )
        segments = (piece for piece in self._segments_of(shard, first, end) if sealed.over(piece.first) is None)
        found = [*islice(tables, most), *islice(segments, most)]
        return sorted(found, key=lambda piece: piece.first)[:most]

    def tables(self) -> list[TableLine]:
        """All sealed tables that are there, by shard and offset."""
        self._look_at_manifest()
        return [line for _, sealed in sorted(self._tables.items()) for line in sealed if not line.is_removed]

    def segments(self, shard: int, first: int = 0, end: int | None = None) -> list[Piece]:
        """The segments with rows of this range that the log tells of, also those that have been sealed, and are gone;
        in the order of offsets."""
        return list(self._segments_of(shard, first, end))

    def segment(self, shard: int, first: int) -> Piece | None:
        """The segment that begins with this offset, if the log tells of it."""
        piece = next(self._segments_of(shard, first, first + 1), None)
        return piece if piece is not None and piece.first == first else None

    def table(self, shard: int, first: int) -> Piece | None:
        """The table that begins with this offset, if the manifest tells of it."""
        piece = next(iter(self.pieces(shard, first, first + 1, most=1)), None)
        return piece if piece is not None and piece.is_table and piece.first == first else None

    def _segments_of(self, shard: int, first: int, end: int | None) -> Iterator[Piece]:
        folder = log_folder(self.path, shard)
        # the head before the lines: what is closed in between is then in both, and not in none
        head = self._head(shard)
        closed = self._closed(shard)
        for line in closed.between(first, end):
            path = folder / segment_name(line.first, "")
            yield Piece(shard, path, False, line.first, line.end, line.earliest, line.latest, line.octets)
        if head is None:
            firsts = sorted(first for path in folder.glob("*" + OPEN) if (first := int(path.stem)) not in closed)
            open_ones: list[tuple[int, int | None]] = [(first, None) for first in firsts]
        else:
            open_ones = [(head.segment, head.octets)] if head.segment not in closed and head.end > first else []
        for segment, octets in open_ones:
            piece = _piece_of(shard, folder, segment, octets)
            if piece is not None and piece.end > first and (end is None or piece.first < end):
                yield piece

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
