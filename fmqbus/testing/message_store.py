"""An `IMessageStore` in memory, for tests of what stands on one: as slow, or as broken, as the test says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
from msgspec.structs import replace
from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.errors import StoreFailed
from fmqbus.interfaces import IMessageStore
from fmqbus.model import StoredMessage


@attrs.define
class Medium:
    """What a store writes to. It outlives the store, as a disk does; several can be opened over it, one by one."""

    kept: dict[tuple[bytes, int], StoredMessage] = attrs.field(factory=dict)
    #: A store is open over it, or was not closed.
    is_open: bool = False


@implementer(IMessageStore)
class MemoryMessageStore:
    """Commits at once when it is asked to, unless it is made to be slow; then when the test calls `write`."""

    def __init__(self, medium: Medium | None = None, is_slow: bool = False) -> None:
        self.medium = medium or Medium()
        self.is_slow = is_slow
        #: Once set, nothing is written any more.
        self.failure: StoreFailed | None = None
        self._said: list[Callable[[], object]] = []
        self._waiting: list[Deferred[None]] = []

    def recover(self) -> Deferred[Sequence[StoredMessage]]:
        was_open, self.medium.is_open = self.medium.is_open, True
        kept = [
            replace(stored, is_redelivered=stored.is_redelivered or stored.deliveries > 0 or was_open)
            for _, stored in sorted(self.medium.kept.items())
        ]
        self.medium.kept = {(stored.queue, stored.number): replace(stored) for stored in kept}
        return succeed(kept)

    def append(self, stored: StoredMessage) -> None:
        key, snapshot = (stored.queue, stored.number), replace(stored)
        self._said.append(lambda: self.medium.kept.update({key: snapshot}))

    def delivered(self, stored: StoredMessage) -> None:
        key, snapshot = (stored.queue, stored.number), replace(stored)
        self._said.append(lambda: key in self.medium.kept and self.medium.kept.update({key: snapshot}))

    def remove(self, queue: bytes, number: int) -> None:
        self._said.append(lambda: self.medium.kept.pop((queue, number), None))

    def commit(self, at_leisure: bool = False) -> Deferred[None]:
        if self.failure is not None:
            return fail(self.failure)
        waiting: Deferred[None] = Deferred()
        self._waiting.append(waiting)
        if not self.is_slow:
            self.write()
        return waiting

    def close(self) -> Deferred[None]:
        self.write()
        self.medium.is_open = self.failure is not None
        return succeed(None)

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
