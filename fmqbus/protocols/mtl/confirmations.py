"""Which contents has the other side taken over? (MTL, Content Confirmation; readings 43 to 51)

Each direction of a flow is confirmed or not, as its lease says. What was sent and is to be confirmed has to be
remembered, so the sender has a window: a reader that confirms nothing is sent nothing more, and costs no more memory.
What is not confirmed is only counted. What was received is confirmed when it is safe, in whatever order that happens.
"""

from __future__ import annotations

from collections import deque
from sys import maxsize
from typing import Generic, TypeVar

import attrs

from fmqbus.errors import LocalError
from fmqbus.model import Outcome
from fmqbus.protocols.mtl.commands import Confirm, Reject

Tag = TypeVar("Tag")


def outcome_of(settling: Confirm | Reject) -> Outcome:
    """What becomes of a queue's message (reading 17)."""
    if isinstance(settling, Confirm):
        return Outcome.ACCEPT
    return Outcome.RELEASE if settling.recycle else Outcome.REJECT


class Sent(Generic[Tag]):
    """The contents that were sent on one flow, over all its resources (readings 44 and 45)."""

    __slots__ = ("_is_confirmed", "_last", "_unsettled", "_window")

    def __init__(self, is_confirmed: bool, window: int) -> None:
        """At most `window` contents are unsettled at a time, where they are confirmed."""
        self._is_confirmed = is_confirmed
        self._window = window
        self._last = 0
        #: By sequence, rising.
        self._unsettled: dict[int, Tag] = {}

    def __len__(self) -> int:
        """How many are unsettled."""
        return len(self._unsettled)

    @property
    def room(self) -> int:
        """How many contents may be sent now. Where nothing is confirmed, the link alone says so (reading 51)."""
        return self._window - len(self._unsettled) if self._is_confirmed else maxsize

    def next(self, tag: Tag) -> int:
        """The sequence of a content that is sent now; with its tag, it is unsettled from now on. Raises `LocalError`
        where there is no room."""
        if self.room <= 0:
            raise LocalError(f"{self._window} contents are unsettled")
        self._last += 1
        if self._is_confirmed:
            self._unsettled[self._last] = tag
        return self._last

    def next_many(self, count: int, tag: Tag) -> range:
        """The same for as many contents as there is room for, up to this count; all have the same tag."""
        count = max(0, min(count, self.room))
        sequences = range(self._last + 1, self._last + 1 + count)
        self._last += count
        if self._is_confirmed:
            self._unsettled.update(dict.fromkeys(sequences, tag))
        return sequences

    def settle(self, settling: Confirm | Reject) -> list[Tag]:
        """Take the tags of those that it covers, in their order. None are where it is invalid, which is ignored: it is
        for what was never sent, for what is settled already, or in a direction without confirmation (reading 50)."""
        sequence = settling.sequence
        if not 0 < sequence <= self._last:
            return []
        unsettled = self._unsettled
        if not settling.multiple:
            return [unsettled.pop(sequence)] if sequence in unsettled else []
        tags = []
        while unsettled and (first := next(iter(unsettled))) <= sequence:
            tags.append(unsettled.pop(first))
        return tags

    def take_all(self) -> list[Tag]:
        """The flow has ended: take those that nobody will settle (reading 31)."""
        tags = list(self._unsettled.values())
        self._unsettled.clear()
        return tags


@attrs.define(slots=True, eq=False)
class Receipt:
    """A content that has come and is not safe yet."""

    sequence: int
    #: Whether a confirmation may cover it together with all before it.
    is_in_line: bool
    #: Safe or rejected.
    has_ended: bool = False
    is_safe: bool = False


class Received:
    """The contents that have come on one flow where they are confirmed.

    Confirmations gather until they are said, so that one may cover many (reading 48). One that covers several says that
    **all** up to it are safe. So it is used only as long as the sequences have come one by one from 1, as they should:
    where one is missing, it may be lost with a connection, and its sender would take it for safe. After that each is
    confirmed by itself. What was rejected is said first, since its sender has then settled it.
    """

    __slots__ = ("_expected", "_in_line", "_rejects", "_safe_in_line", "_singles", "_waiting", "_window")

    def __init__(self, window: int) -> None:
        """At most so many wait to be safe at a time."""
        self._window = window
        self._expected = 1
        #: Those that a confirmation may cover together with all before, the oldest first.
        self._in_line: deque[Receipt] = deque()
        self._waiting = 0
        #: The last of the line up to which all is safe, and that has not been said; 0 for none.
        self._safe_in_line = 0
        self._singles: list[int] = []
        self._rejects: list[Reject] = []

    def __len__(self) -> int:
        """How many are not safe yet."""
        return self._waiting

    @property
    def has_room(self) -> bool:
        """Whether one more may wait, to be safe or to be confirmed. If not, it is refused, to be sent again later
        (reading 49)."""
        return max(self._waiting, len(self._in_line)) < self._window

    @property
    def is_owing(self) -> bool:
        """Whether there is something to say."""
        return bool(self._safe_in_line or self._singles or self._rejects)

    def came(self, sequence: int) -> Receipt:
        """A content has come that may become safe. Its receipt is to be given to `safe` or to `rejected`, once. Raises
        `LocalError` where there is no room."""
        if not self.has_room:
            raise LocalError(f"{self._window} contents wait")
        receipt = Receipt(sequence, self._is_next(sequence))
        if receipt.is_in_line:
            self._in_line.append(receipt)
        self._waiting += 1
        return receipt

    def refused(self, sequence: int, recycle: bool) -> None:
        """A content has come that is rejected at once, and does not wait for those before it: it is invalid, or there
        is no room, and then its sender may try again."""
        self._is_next(sequence)
        self._rejects.append(Reject(sequence, recycle=recycle))

    def _is_next(self, sequence: int) -> bool:
        is_next = sequence == self._expected
        self._expected = sequence + 1 if is_next else -1
        return is_next

    def safe(self, receipt: Receipt) -> None:
        """It is as safe as it will be."""
        receipt.is_safe = True
        self._end(receipt)
        if not receipt.is_in_line:
            self._singles.append(receipt.sequence)

    def rejected(self, receipt: Receipt, recycle: bool) -> None:
        """It will not be safe after all. With `recycle` its sender may try again."""
        self._rejects.append(Reject(receipt.sequence, recycle=recycle))
        self._end(receipt)

    def _end(self, receipt: Receipt) -> None:
        self._waiting -= 1
        receipt.has_ended = True
        while self._in_line and self._in_line[0].has_ended:
            first = self._in_line.popleft()
            if first.is_safe:
                self._safe_in_line = first.sequence

    def to_say(self) -> list[Confirm | Reject]:
        """Take what is to be said to the sender, in this order."""
        said: list[Confirm | Reject] = [*self._rejects]
        if self._safe_in_line:
            said.append(Confirm(self._safe_in_line, multiple=True))
        said.extend(map(Confirm, self._singles))
        self._safe_in_line = 0
        self._rejects.clear()
        self._singles.clear()
        return said
