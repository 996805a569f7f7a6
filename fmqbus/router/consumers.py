"""Whose turn is it? The consumers of one queue: who has room, in which order, and for how many messages.

Those with room stand in a line. The first gets as many messages as its weight says, then goes to the end: consumers of
equal weight differ by one message at most, however fast they are, as long as all have room. Whoever has none (its
window is used up, or its link is full) leaves the line, and comes to its end when he has room again.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs

from fmqbus.model import Consumer

if TYPE_CHECKING:
    from fmqbus.router.queue import Queue
    from fmqbus.router.session import Session


@attrs.define(slots=True, eq=False)
class Member(Consumer):
    """A consumer, as its queue knows it."""

    session: Session = attrs.field(kw_only=True)
    #: The queue; None once it has ended.
    home: Queue | None = attrs.field(kw_only=True)
    #: Stands in the line.
    is_in_line: bool = False
    #: Messages that it still gets before the next one's turn.
    turn: int = 0

    @property
    def has_room(self) -> bool:
        """It can be given a message now."""
        return len(self.unsettled) < self.window and self.session.outbox.is_open


class Consumers:
    """All consumers of one queue."""

    __slots__ = ("_members", "line")

    def __init__(self) -> None:
        self._members: dict[Member, None] = {}
        #: Those that had room when last looked at, the next one first.
        self.line: deque[Member] = deque()

    def __len__(self) -> int:
        return len(self._members)

    def add(self, member: Member) -> None:
        """A consumer has come."""
        self._members[member] = None
        self.look_at(member)

    def remove(self, member: Member) -> None:
        """It has gone."""
        del self._members[member]
        if member.is_in_line:
            self.line.remove(member)

    def look_at(self, member: Member) -> None:
        """It may have room again."""
        if not member.is_in_line and member.has_room:
            member.is_in_line = True
            member.turn = member.weight
            self.line.append(member)

    def next(self) -> tuple[Member, int] | None:
        """Who gets messages now, and how many before somebody else does; None if nobody has room."""
        line = self.line
        while line:
            member = line[0]
            room = member.window - len(member.unsettled)
            if room > 0 and member.session.outbox.is_open:
                return member, room if len(line) == 1 else min(room, member.turn)
            line.popleft()
            member.is_in_line = False
        return None

    def gave(self, member: Member, messages: int) -> None:
        """That one was given so many messages."""
        if len(self.line) > 1:
            member.turn -= messages
            if member.turn == 0:
                member.turn = member.weight
                self.line.rotate(-1)
