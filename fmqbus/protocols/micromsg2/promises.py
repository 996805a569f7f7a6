"""Up to which message may a producer be told that all are safe? (MicroMsg2, batch-ack; reading 39)

An acknowledgement is for everything up to a number, but messages become safe in any order: some at once, some when a
disk has them. So each that is not safe yet is a promise, and what comes behind it waits for it. The first promise that
cannot be kept is the end of the account.
"""

from __future__ import annotations

from collections import deque

import attrs


@attrs.define(slots=True, eq=False)
class Promise:
    """A message that will be safe, or will not."""

    number: int
    #: The number up to which all is safe once this one is, and all before it.
    up_to: int
    is_kept: bool = False
    #: Why it cannot be kept.
    fault: str = ""


class Promises:
    """Those of one connection, in the order of their messages."""

    __slots__ = ("_open", "is_broken", "safe")

    def __init__(self) -> None:
        #: All messages up to this number are safe; 0 for none.
        self.safe = 0
        #: One cannot be kept: what comes now can never be told to be safe.
        self.is_broken = False
        self._open: deque[Promise] = deque()

    @property
    def is_waiting(self) -> bool:
        """Whether there is more to come: a promise that may be kept, or has been broken and not been told."""
        return bool(self._open)

    @property
    def fault(self) -> str:
        """Why no more will ever be safe; empty while that may be."""
        return self._open[0].fault if self._open else ""

    def is_safe(self, number: int) -> None:
        """All messages since the last promise are safe already, up to this one."""
        if self._open:
            self._open[-1].up_to = number
        else:
            self.safe = number

    def make(self, number: int) -> Promise:
        """The next message is not safe yet."""
        promise = Promise(number, number)
        self._open.append(promise)
        return promise

    def keep(self, promise: Promise) -> None:
        """Now it is."""
        promise.is_kept = True
        while self._open and self._open[0].is_kept:
            self.safe = self._open.popleft().up_to

    def break_(self, promise: Promise, fault: str) -> None:
        """It never will be."""
        promise.fault = fault
        self.is_broken = True
