"""Whose turn is it? A line of those who share work: who has room, in which order, and for how much.

Those with room stand in a line. The first gets as many pieces as its weight says, then goes to the end: members of
equal weight differ by one piece at most, however fast they are, as long as all have room. Whoever has none (its window
is used up, or its link is full) leaves the line, and comes to its end when he has room again.

Each priority has a line of its own, and whoever stands in a lower one gets nothing as long as anybody in a higher one
has room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import itemgetter
from typing import Generic, Protocol, TypeVar


class Member(Protocol):
    """What a line needs of those in it. It alone changes `is_in_line` and `turn`."""

    weight: int
    priority: int
    is_in_line: bool
    #: Pieces that it still gets before the next one's turn.
    turn: int

    @property
    def room(self) -> int:
        """Pieces that it can be given now."""


M = TypeVar("M", bound=Member)


class Line(Generic[M]):
    """All members, and the lines of those with room."""

    __slots__ = ("_lines", "_members")

    def __init__(self) -> None:
        self._members: dict[M, None] = {}
        #: Priority → those that had room when last looked at, the next one first; the highest priority first.
        self._lines: dict[int, deque[M]] = {}

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[M]:
        """All members, in the order in which they came."""
        return iter(self._members)

    @property
    def may_have_room(self) -> bool:
        """Somebody had some when last looked at."""
        return any(self._lines.values())

    def add(self, member: M) -> None:
        """One has come."""
        self._members[member] = None
        self.look_at(member)

    def remove(self, member: M) -> None:
        """It has gone."""
        del self._members[member]
        if member.is_in_line:
            self._lines[member.priority].remove(member)

    def look_at(self, member: M) -> None:
        """It may have room again."""
        if not member.is_in_line and member.room > 0:
            member.is_in_line = True
            member.turn = member.weight
            self._line_of(member.priority).append(member)

    def next(self) -> tuple[M, int] | None:
        """Who gets something now, and how much before somebody else does; None if nobody has room."""
        for line in self._lines.values():
            while line:
                member = line[0]
                room = member.room
                if room > 0:
                    return member, room if len(line) == 1 else min(room, member.turn)
                line.popleft()
                member.is_in_line = False
        return None

    def gave(self, member: M, pieces: int) -> None:
        """The next one was given so much."""
        line = self._lines[member.priority]
        if len(line) > 1:
            member.turn -= pieces
            if member.turn == 0:
                member.turn = member.weight
                line.rotate(-1)

    def _line_of(self, priority: int) -> deque[M]:
        line = self._lines.get(priority)
        if line is None:
            line = deque()
            in_use = [(priority, line), *((other, those) for other, those in self._lines.items() if those)]
            self._lines = dict(sorted(in_use, key=itemgetter(0), reverse=True))
        return line
