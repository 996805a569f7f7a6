"""Whose turn is it? A line of those who share work: who has room, in which order, and for how much.

Those with room stand in a line. The first gets as many pieces as its weight says, then goes to the end: members of
equal weight differ by one piece at most, however fast they are, as long as all have room. Whoever has none (its window
is used up, or its link is full) leaves the line, and comes to its end when he has room again.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar


class Member(Protocol):
    """What a line needs of those in it. It alone changes `is_in_line` and `turn`."""

    weight: int
    is_in_line: bool
    #: Pieces that it still gets before the next one's turn.
    turn: int

    @property
    def room(self) -> int:
        """Pieces that it can be given now."""


M = TypeVar("M", bound=Member)


class Line(Generic[M]):
    """All members, and the line of those with room."""

    __slots__ = ("_members", "line")

    def __init__(self) -> None:
        self._members: dict[M, None] = {}
        #: Those that had room when last looked at, the next one first.
        self.line: deque[M] = deque()

    def __len__(self) -> int:
        return len(self._members)

    def add(self, member: M) -> None:
        """One has come."""
        self._members[member] = None
        self.look_at(member)

    def remove(self, member: M) -> None:
        """It has gone."""
        del self._members[member]
        if member.is_in_line:
            self.line.remove(member)

    def look_at(self, member: M) -> None:
        """It may have room again."""
        if not member.is_in_line and member.room > 0:
            member.is_in_line = True
            member.turn = member.weight
            self.line.append(member)

    def next(self) -> tuple[M, int] | None:
        """Who gets something now, and how much before somebody else does; None if nobody has room."""
        line = self.line
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
        if len(self.line) > 1:
            member.turn -= pieces
            if member.turn == 0:
                member.turn = member.weight
                self.line.rotate(-1)
