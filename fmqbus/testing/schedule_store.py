"""An `IScheduleStore` in memory, for tests of what stands on one: as slow, or as broken, as the test says."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from fmqbus.interfaces import IScheduleStore
from fmqbus.schedules.table import Schedule
from fmqbus.testing.memory_log import MemoryLog


@implementer(IScheduleStore)
class MemoryScheduleStore(MemoryLog):
    """See `MemoryLog`."""

    def __init__(self, kept: dict[str, Schedule] | None = None, is_slow: bool = False) -> None:
        """`kept` outlives the store, as a disk does."""
        super().__init__(is_slow)
        self.kept = {} if kept is None else kept

    def recover(self) -> Deferred[Sequence[Schedule]]:
        return succeed([self.kept[key] for key in sorted(self.kept)])

    def put(self, schedule: Schedule) -> None:
        self.say(lambda: self.kept.update({schedule.key: schedule}))

    def remove(self, key: str) -> None:
        self.say(lambda: self.kept.pop(key, None))

    def close(self) -> Deferred[None]:
        self.write()
        return succeed(None)
