"""Schedules in a database file."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from twisted.internet.defer import Deferred
from zope.interface import implementer

from fmqbus.interfaces import IScheduleStore
from fmqbus.schedules.table import Schedule
from fmqbus.stores.sqlite.file import DatabaseFile
from fmqbus.stores.sqlite.schedule_rows import END, PUT


@implementer(IScheduleStore)
class SQLiteScheduleStore:
    """See `IScheduleStore`.

    What a run put into a durable queue of the same file is said just before it, and so is in the same group, or in one
    before.
    """

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def recover(self) -> Deferred[Sequence[Schedule]]:
        return self._file.open(self, self._file.database.schedules)

    def put(self, schedule: Schedule) -> None:
        self._file.say(_key(schedule.key), PUT, schedule, schedule.what.errand.octets)

    def remove(self, key: str) -> None:
        self._file.say(_key(key), END, key, 0)

    def commit(self, at_leisure: bool = False) -> Deferred[None]:
        return self._file.commit(at_leisure)

    def close(self) -> Deferred[None]:
        return self._file.close(self)


def _key(key: str) -> Hashable:
    """Of what is said in the file; those of queues and retained messages are others."""
    return "schedule", key
