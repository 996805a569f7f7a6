"""When is a schedule safe? What the store of schedules is told, and who waits for it.

A run is told after what it has put into a queue. So if the bus ends in between, the run comes again; and where the
store has both in one file, and commits them together, it does not.
"""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.errors import Overloaded, StoreFailed
from fmqbus.interfaces import IScheduleStore
from fmqbus.schedules.table import Schedule

_log = Logger()


class ScheduleKeeping:
    """The schedule store of one bus, if it has one."""

    def __init__(self, store: IScheduleStore | None) -> None:
        self._store = store
        self._is_open = store is None
        self._has_moved = False
        #: Why nothing more is kept; None while all is well.
        self.failure: StoreFailed | None = None

    def demand_ready(self) -> None:
        """Raises `Overloaded` before `opened`, and `StoreFailed` when the store has failed."""
        if self.failure is not None:
            raise StoreFailed(str(self.failure))
        if not self._is_open:
            raise Overloaded("the schedules are not yet back from the store", "recovering")

    def recover(self) -> Deferred[Sequence[Schedule]]:
        """What was kept. Fails with `StoreFailed`; nothing can be scheduled then."""
        if self._store is None:
            return succeed(())
        return self._store.recover().addErrback(self._fail)

    def opened(self) -> None:
        """What was kept is here."""
        self._is_open = True

    def put(self, schedule: Schedule) -> Deferred[None] | None:
        """Keep a schedule, new or changed. None if it is as safe as it gets, else fires when it is safe."""
        if self._store is None:
            return None
        self._store.put(schedule)
        return self._committed()

    def remove(self, key: str) -> Deferred[None]:
        """Forget it; fires when that is safe."""
        if self._store is None:
            return succeed(None)
        self._store.remove(key)
        return self._committed()

    def moved(self, schedule: Schedule, has_ended: bool) -> None:
        """It has run; nobody waits for this."""
        if self._store is None or self.failure is not None:
            return
        self._has_moved = True
        if has_ended:
            self._store.remove(schedule.key)
        else:
            self._store.put(schedule)

    def flush(self) -> None:
        """Runs are over: hear of it if they cannot be written."""
        if self._has_moved and self._store is not None:
            self._has_moved = False
            self._store.commit(at_leisure=True).addErrback(self._fail).addErrback(lambda _: None)

    def close(self) -> Deferred[None]:
        """Write out what is not yet safe, and keep nothing any more."""
        self.failure = self.failure or StoreFailed("the bus has ended")
        return succeed(None) if self._store is None else self._store.close()

    def _committed(self) -> Deferred[None]:
        assert self._store is not None, "there is a store"
        return self._store.commit().addErrback(self._fail)

    def _fail(self, failure: Failure) -> Failure:
        if self.failure is None:
            self.failure = StoreFailed(failure.getErrorMessage())
            _log.critical("the schedule store has failed, nothing more is scheduled: {error}", error=self.failure)
        return Failure(StoreFailed(failure.getErrorMessage()))
