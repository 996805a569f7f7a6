"""Which rows does a journal in a folder have, and where? What readers use; they lock nothing and write nothing."""

from __future__ import annotations

from pathlib import Path

from fmqbus.journal.contents import JournalContents, Piece
from fmqbus.journal.readable import ReadableJournal


class JournalFolder(JournalContents, ReadableJournal):
    """One journal, as it is at each call. Ask one and the same again: it reads only what is new. Not for several
    threads."""

    def __reduce__(self) -> tuple[type[JournalFolder], tuple[Path]]:
        return JournalFolder, (self.path,)

    def __str__(self) -> str:
        return str(self.path)

    def piece_at(self, shard: int, first: int, end: int | None = None) -> Piece | None:
        """See `ReadableJournal.piece_at`."""
        return next(iter(self.pieces(shard, first, end, most=1)), None)
