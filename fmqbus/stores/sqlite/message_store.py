"""The messages of durable queues in a database file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from twisted.internet.defer import Deferred
from zope.interface import implementer

from fmqbus.interfaces import IMessageStore
from fmqbus.model import StoredMessage
from fmqbus.stores.sqlite.file import DatabaseFile
from fmqbus.stores.sqlite.rows import APPEND, APPEND_ANEW, DELIVERED, REMOVE, Statement, snapshot_of


@implementer(IMessageStore)
class SQLiteMessageStore:
    """See `IMessageStore`."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def recover(self) -> Deferred[Sequence[StoredMessage]]:
        return self._file.open(self, self._file.database.messages)

    def append(self, stored: StoredMessage) -> None:
        key = (stored.queue, stored.number)
        self._say(stored, APPEND if self._file.said(key) is None else APPEND_ANEW)

    def delivered(self, stored: StoredMessage) -> None:
        said = self._file.said((stored.queue, stored.number))
        if said is not REMOVE:
            self._say(stored, said or DELIVERED)

    def remove(self, queue: bytes, number: int) -> None:
        key = (queue, number)
        if self._file.said(key) is APPEND:
            self._file.withdraw(key)
        else:
            self._file.say(key, REMOVE, key, 0)

    def together(self) -> AbstractContextManager[None]:
        return self._file.together()

    def commit(self, at_leisure: bool = False) -> Deferred[None]:
        return self._file.commit(at_leisure)

    def close(self) -> Deferred[None]:
        return self._file.close(self)

    def _say(self, stored: StoredMessage, statement: Statement) -> None:
        key = (stored.queue, stored.number)
        self._file.say(key, statement, snapshot_of(stored, self._file.database.crashes), stored.octets)
