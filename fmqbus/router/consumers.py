"""A consumer, as its queue knows it: a member of the line of those who share the queue's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from fmqbus.model import Consumer

if TYPE_CHECKING:
    from fmqbus.router.queue import Queue
    from fmqbus.router.session import Session


@attrs.define(slots=True, eq=False)
class Member(Consumer):
    """See `fmqbus.router.line.Member`."""

    session: Session = attrs.field(kw_only=True)
    #: The queue; None once it has ended.
    home: Queue | None = attrs.field(kw_only=True)
    is_in_line: bool = False
    turn: int = 0

    @property
    def room(self) -> int:
        """Messages that it can be given now."""
        if not self.session.outbox.is_open:
            return 0
        room = self.window - len(self.unsettled)
        return room if self.credit is None else min(room, self.credit.left)
