"""A log in memory, for stores in tests of what stands on them: as slow, or as broken, as the test says."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred, fail
from twisted.python.failure import Failure

from fmqbus.errors import StoreFailed


class MemoryLog:
    """Commits at once when it is asked to, unless it is made to be slow; then when the test calls `write`."""

    def __init__(self, is_slow: bool) -> None:
        self.is_slow = is_slow
        #: Once set, nothing is written any more.
        self.failure: StoreFailed | None = None
        self._said: list[Callable[[], object]] = []
        self._waiting: list[Deferred[None]] = []

    def say(self, operation: Callable[[], object]) -> None:
        """Have this done with the next commit."""
        self._said.append(operation)

    def commit(self, at_leisure: bool = False) -> Deferred[None]:
        if self.failure is not None:
            return fail(self.failure)
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        if not self.is_slow:
            self.write()
        return waiting

    def write(self) -> None:
        """The disk does what it was told so far, and those who wait for it hear of it."""
        said, self._said = self._said, []
        waiting, self._waiting = self._waiting, []
        if self.failure is None:
            for operation in said:
                operation()
        outcome = None if self.failure is None else Failure(self.failure)
        for one in waiting:
            one.callback(outcome)  # a Failure goes the errbacks' way

    def break_down(self, reason: str = "the disk is broken") -> None:
        """From now on nothing can be written; those who wait hear of it."""
        self.failure = StoreFailed(reason)
        self.write()
