"""How far may what was received be acknowledged? (MicroMsg2, batch-ack; readings 39 and 45)

Whole messages are safe when the session says so, in their order. The frames of a message that goes on are nobody's
promise, but the sender may wait for them; so they are acknowledged as soon as everything before them is.
"""

from __future__ import annotations

from collections.abc import Callable

#: Tells the other side that all up to a number is safe, at once if the second argument is True; returns False if it has
#: put that off.
Say = Callable[[int, bool], bool]


class Receipts:
    """One direction of a connection: the other side's."""

    __slots__ = ("_is_all_safe", "_last", "_last_whole", "_safe", "_said")

    def __init__(self) -> None:
        #: The number last received, and the last one of a whole message.
        self._last = self._last_whole = 0
        self._is_all_safe = True
        self._safe = self._said = 0

    @property
    def is_owing(self) -> bool:
        """Whether more is safe than the other side has been told."""
        return self._safe != self._said

    def whole(self, number: int) -> None:
        """Messages have come, the last of them with this number."""
        self._last = self._last_whole = number
        self._is_all_safe = False

    def part(self, number: int, say: Say) -> None:
        """A frame of a message that goes on has come."""
        self._last = number
        if self._is_all_safe:
            self._settle(number, False, say)

    def safe(self, number: int, say: Say) -> None:
        """All messages up to this number are safe."""
        self._is_all_safe = number == self._last_whole
        self._settle(self._last if self._is_all_safe else number, False, say)

    def say_now(self, say: Say) -> None:
        """Tell the other side what it has not been told."""
        if self.is_owing:
            self._settle(self._safe, True, say)

    def _settle(self, number: int, at_once: bool, say: Say) -> None:
        self._safe = number
        if say(number, at_once):
            self._said = number
