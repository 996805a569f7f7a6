"""What is over when? For very many whose times are often set anew, and mostly end before they are over.

Those with equally long times are over in the order in which they began. So each length has a row of its own, and
nothing needs to be sorted.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import chain, islice
from typing import Generic, TypeVar

Key = TypeVar("Key")


class Deadlines(Generic[Key]):
    """Keys and when their time is over. Times are in seconds of any clock that does not go back."""

    def __init__(self) -> None:
        #: Length → those that have it, the one that is over first at the front; no row is empty.
        self._rows: dict[float, OrderedDict[Key, float]] = {}
        self._lengths: dict[Key, float] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self._lengths

    def __len__(self) -> int:
        return len(self._lengths)

    def end_of(self, key: Key) -> float:
        """When the time of one of them is over."""
        return self._rows[self._lengths[key]][key]

    def set(self, key: Key, seconds: float, now: float) -> None:
        """Begin, or begin again: its time is over after so many seconds."""
        if self._lengths.get(key) == seconds:
            row = self._rows[seconds]
            row.move_to_end(key)
        else:
            self.discard(key)
            self._lengths[key] = seconds
            row = self._rows.setdefault(seconds, OrderedDict())
        row[key] = now + seconds

    def discard(self, key: Key) -> None:
        """It has ended before; may be repeated."""
        seconds = self._lengths.pop(key, None)
        if seconds is not None:
            row = self._rows[seconds]
            del row[key]
            if not row:
                del self._rows[seconds]

    def first(self, most: int) -> list[Key]:
        """So many at most: of equally long times those that are over first, and all of one length before another."""
        return list(islice(chain.from_iterable(self._rows.values()), most))

    def passed(self, now: float) -> list[Key]:
        """Take those whose time is over; of equally long times, in the order in which they were set."""
        over = []
        for seconds, row in list(self._rows.items()):
            while row and next(iter(row.values())) <= now:
                key, _ = row.popitem(last=False)
                del self._lengths[key]
                over.append(key)
            if not row:
                del self._rows[seconds]
        return over
