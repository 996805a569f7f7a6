"""An `IMessageStore` in memory, for tests of what stands on one: as slow, or as broken, as the test says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import attrs
from msgspec.structs import replace
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from fmqbus.interfaces import IMessageStore
from fmqbus.model import StoredMessage
from fmqbus.testing.memory_log import MemoryLog


@attrs.define
class Medium:
    """What a store writes to. It outlives the store, as a disk does; several can be opened over it, one by one."""

    kept: dict[tuple[bytes, int], StoredMessage] = attrs.field(factory=dict)
    #: A store is open over it, or was not closed.
    is_open: bool = False


@implementer(IMessageStore)
class MemoryMessageStore(MemoryLog):
    """See `MemoryLog`."""

    def __init__(self, medium: Medium | None = None, is_slow: bool = False) -> None:
        super().__init__(is_slow)
        self.medium = medium or Medium()

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
        self.say(lambda: self.medium.kept.update({key: snapshot}))

    def delivered(self, stored: StoredMessage) -> None:
        key, snapshot = (stored.queue, stored.number), replace(stored)
        self.say(lambda: key in self.medium.kept and self.medium.kept.update({key: snapshot}))

    def remove(self, queue: bytes, number: int) -> None:
        self.say(lambda: self.medium.kept.pop((queue, number), None))

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> Deferred[None]:
        self.write()
        self.medium.is_open = self.failure is not None
        return succeed(None)
