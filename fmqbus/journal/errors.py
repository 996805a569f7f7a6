"""What can be wrong with a journal. All of it is told, never skipped in silence."""

from __future__ import annotations

from fmqbus.errors import StoreFailed


class JournalError(StoreFailed):
    """A journal cannot be read as it was asked."""

    reason = "journal"


class DamagedFrame(JournalError):
    """The octets at `position` are no whole frame: cut off, or not as they were written."""

    reason = "damaged"

    def __init__(self, detail: str, position: int = 0) -> None:
        super().__init__(detail)
        self.position = position


class NewerFormat(JournalError):
    """The journal was written by a later fmqbus, in a form that this one cannot know."""

    reason = "newer-format"


class MissingRows(JournalError):
    """Rows `first` to `end` (exclusive) of a shard are asked for, and are not there."""

    reason = "missing-rows"

    def __init__(self, detail: str, shard: int, first: int, end: int) -> None:
        super().__init__(detail)
        self.shard = shard
        self.first = first
        self.end = end
