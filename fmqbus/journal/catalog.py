"""Which closed segments and tables are told of? Lines are read once: they are only ever added, so that asking again and
again costs as little with a million files as with one."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fmqbus.journal.errors import DamagedFrame
from fmqbus.journal.places import SegmentLine, TableLine

Line = TypeVar("Line", SegmentLine, TableLine)


class GrowingLines(Generic[Line]):
    """The whole lines of a file, as they come; from the beginning where the file has been written anew."""

    def __init__(self, path: Path, kind: type[Line]) -> None:
        self._path = path
        self._decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(kind)
        self._inode = 0
        self._position = 0
        self._number = 0

    def news(self) -> tuple[bool, list[Line]]:
        """The lines since the last call, and whether those before them no longer count. Raises `DamagedFrame` for one
        that makes no sense."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            is_gone = self._position > 0
            self._inode = self._position = self._number = 0
            return is_gone, []
        with file:
            status = os.fstat(file.fileno())
            is_new = status.st_ino != self._inode or status.st_size < self._position
            if is_new:
                self._inode, self._position, self._number = status.st_ino, 0, 0
            elif status.st_size == self._position:
                return False, []
            file.seek(self._position)
            octets = file.read()
        whole = octets.rfind(b"\n") + 1
        lines = []
        for line in octets[:whole].splitlines():
            self._number += 1
            try:
                lines.append(self._decoder.decode(line))
            except msgspec.DecodeError as error:
                message = f"{self._path}, line {self._number}: {error}"
                self._inode = self._position = self._number = 0
                raise DamagedFrame(message) from None
        self._position += whole
        return is_new, lines


class Ranges(Generic[Line]):
    """Lines of one shard by their first offsets; the last line of each offset counts."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lines: dict[int, Line] = {}

    def __iter__(self) -> Iterator[Line]:
        return (self._lines[first] for first in self._firsts)

    def add(self, line: Line) -> None:
        """One more, mostly behind all others."""
        if line.first not in self._lines:
            if not self._firsts or line.first > self._firsts[-1]:
                self._firsts.append(line.first)
            else:
                self._firsts.insert(bisect_left(self._firsts, line.first), line.first)
        self._lines[line.first] = line

    def __contains__(self, first: int) -> bool:
        return first in self._lines

    def over(self, offset: int) -> Line | None:
        """The one whose range has this offset, if there is one."""
        before = bisect_right(self._firsts, offset) - 1
        line = self._lines[self._firsts[before]] if before >= 0 else None
        return line if line is not None and offset < line.end else None

    def between(self, first: int, end: int | None) -> Iterator[Line]:
        """Those with offsets of this range; each is looked for when it is wanted."""
        begin = max(bisect_right(self._firsts, first) - 1, 0)
        stop = len(self._firsts) if end is None else bisect_left(self._firsts, end)
        for place in range(begin, stop):
            line = self._lines[self._firsts[place]]
            if line.end > first:
                yield line
