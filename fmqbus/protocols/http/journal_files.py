"""What do the pages of a journal read from the disk? Everything here blocks, and is called in one thread alone.

No name of a file ever comes from a request: a file is asked for by shard, form and first offset, and looked for among
those of which the journal tells.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from fmqbus.errors import Overloaded
from fmqbus.journal.contents import JournalContents, Piece
from fmqbus.journal.readers import position_path, write_position

#: So many files are told of at once, in some 100 octets each.
MOST_PIECES = 1_000
#: Positions are small, and nobody has so many queries; who made names up would fill the folder.
MOST_READERS = 1_000
#: Of an open segment all heads of frames are read to find it; whoever reads it asks again and again.
_KNOWN_PIECES = 64


class PieceLine(msgspec.Struct, frozen=True):
    """A file of the journal, as it is told: see `fmqbus.journal.contents.Piece`."""

    is_table: bool
    first: int
    end: int
    earliest: int
    latest: int
    octets: int


class JournalFiles:
    """One journal's. Raises `OSError` where the disk fails, `JournalError` where the journal is damaged."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents = JournalContents(root)
        self._known: OrderedDict[tuple[int, bool, int], Piece] = OrderedDict()

    def ends(self) -> Mapping[int, int]:
        """Shard → the offset of its next row. Raises `FileNotFoundError` where there is no journal."""
        self._demand_folder()
        return {shard: self._contents.end(shard) for shard in self._contents.shards()}

    def bounds(self, shard: int) -> tuple[int, int]:
        """The oldest offset that is there, and that of the next row. Raises `FileNotFoundError`."""
        self._demand(shard)
        return self._contents.earliest(shard), self._contents.end(shard)

    def pieces(self, shard: int, first: int, end: int | None, most: int) -> Sequence[PieceLine]:
        """The files with rows of this range, `MOST_PIECES` at most. Raises `FileNotFoundError` for an unknown shard."""
        self._demand(shard)
        pieces = self._contents.pieces(shard, first, end, min(most, MOST_PIECES))
        return [PieceLine(p.is_table, p.first, p.end, p.earliest, p.latest, p.octets) for p in pieces]

    def octets(self, shard: int, is_table: bool, first: int, begin: int, count: int) -> tuple[bytes, int]:
        """So many octets of a file, or those up to its end, and how many of it count. Raises `FileNotFoundError`."""
        piece = self._piece(shard, is_table, first, begin + count)
        path = piece.path if is_table else piece.found()
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # one that was cut off has less than is told of it
            size = min(piece.octets, os.fstat(file).st_size)
            return os.pread(file, max(min(count, size - begin), 0), begin) if begin < size else b"", size
        finally:
            os.close(file)

    def keep_position(self, reader: str, offsets: Mapping[int, int]) -> None:
        """As `fmqbus.journal.readers.write_position`. Raises `Overloaded` if there are too many readers already."""
        self._demand_folder()
        path = position_path(self._root, reader)
        if not path.exists() and path.parent.exists() and len(os.listdir(path.parent)) >= MOST_READERS:
            raise Overloaded(f"the journal has {MOST_READERS} readers, and takes no more: remove files of readers/")
        write_position(self._root, reader, offsets)

    def _piece(self, shard: int, is_table: bool, first: int, end: int) -> Piece:
        key = shard, is_table, first
        piece = self._known.pop(key, None)
        if piece is None or piece.octets < end:
            self._demand(shard)
            piece = self._contents.table(shard, first) if is_table else self._contents.segment(shard, first)
        if piece is None:
            raise FileNotFoundError(f"the journal does not tell of this file of shard {shard}")
        self._known[key] = piece
        if len(self._known) > _KNOWN_PIECES:
            self._known.popitem(last=False)
        return piece

    def _demand_folder(self) -> None:
        if not self._root.is_dir():
            raise FileNotFoundError(f"there is no folder {self._root}")

    def _demand(self, shard: int) -> None:
        """What is remembered of shards is only of those that there are."""
        if shard not in self._contents.shards():
            raise FileNotFoundError(f"there is no shard {shard}")
