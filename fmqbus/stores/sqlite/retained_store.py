"""Retained messages in memory, and written behind into a database file."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred
from zope.interface import implementer

from fmqbus.errors import StoreFailed
from fmqbus.interfaces import IRetainedStore
from fmqbus.limits import Limits
from fmqbus.model import Message
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.stores.sqlite.file import DatabaseFile
from fmqbus.stores.sqlite.rows import FORGET, KEEP


@implementer(IRetainedStore)
class SQLiteRetainedStore(MemoryRetainedStore):
    """See `IRetainedStore`. Reading is from memory alone."""

    def __init__(self, file: DatabaseFile, limits: Limits) -> None:
        super().__init__(limits)
        self._file = file
        #: Topics forgotten since the start, of which the file may hold a message; None once that is known.
        self._forgotten: set[bytes] | None = set()

    @property
    def failure(self) -> StoreFailed | None:
        return self._file.failure

    def recover(self) -> Deferred[None]:
        return self._file.open(self, self._file.database.retained).addCallback(self._bring_back)

    def put(self, message: Message) -> None:
        super().put(message)
        self._file.say(message.topic, KEEP, message, len(message.topic) + len(message.payload))

    def remove(self, topic: bytes) -> bool:
        was_kept = super().remove(topic)
        if self._forgotten is not None:
            self._forgotten.add(topic)
        if was_kept or self._forgotten is not None:
            self._file.say(topic, FORGET, topic, 0)
        return was_kept

    def close(self) -> Deferred[None]:
        return self._file.close(self)

    def _bring_back(self, kept: Sequence[Message]) -> None:
        assert self._forgotten is not None, "a store is recovered once"
        self.put_before([message for message in kept if message.topic not in self._forgotten])
        self._forgotten = None
