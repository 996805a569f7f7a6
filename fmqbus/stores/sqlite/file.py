"""The reactor's side of one database file: what is said gathers in a group, and a thread commits group after group.

While one group is committed the next one gathers, so that the disk decides how many changes a commit is for. What is
said and unsaid within a group is never written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, fail, inlineCallbacks, succeed
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from fmqbus.errors import StoreFailed
from fmqbus.stores.sqlite.database import Database
from fmqbus.stores.sqlite.group import Group
from fmqbus.stores.sqlite.options import Options
from fmqbus.stores.sqlite.rows import Statement

T = TypeVar("T")

_log = Logger()


class _Daemon(Thread):
    """A thread for which the end of the process does not wait; to the file, that is a crash."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options, daemon=True)


class DatabaseFile:
    """One file, for all stores of a bus. It fails once: from then on nothing is written, until the bus starts again.

    `clock` is an IReactorTime and IReactorFromThreads.
    """

    def __init__(self, clock: Any, options: Options) -> None:
        #: Where it is, also after the process has changed its directory.
        self.path = Path(options.path).absolute()
        self.database = Database(self.path, options)
        self.failure: StoreFailed | None = None
        self._clock = clock
        self._options = options
        self._users: list[object] = []
        self._thread: ThreadPool | None = None
        self._group = Group()
        self._in_flight: Group | None = None
        #: What is said now is not to be parted.
        self._is_together = False
        #: Until the group is due; None if it is, or if it is empty.
        self._timer: Any = None

    def open(self, user: object, read: Callable[[], T]) -> Deferred[T]:
        """Open the file, for one store of each kind; fires with what `read` returns, which is called in the thread."""
        if self.failure is not None:
            return fail(self.failure)
        if type(user) in map(type, self._users):
            return fail(StoreFailed(f"{self.path}: another bus of this process has it open"))
        self._users.append(user)
        result = self._in_thread(read).addCallbacks(self._opened, self._failed)
        self._due()  # what was said before
        return result

    def say(self, key: Hashable, statement: Statement, subject: Any, octets: int) -> None:
        """Have a change made, in place of one of the same key that is not on its way to the disk yet."""
        if self.failure is not None:
            return
        group = self._group
        if not group and self._timer is None:
            self._timer = self._clock.callLater(self._options.commit_seconds, self._due)
        group.say(key, statement, subject, octets)
        if not self._is_together:
            self._due_if_large()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is said within the context is committed together, whatever the group's bounds are."""
        was, self._is_together = self._is_together, True
        try:
            yield
        finally:
            self._is_together = was
            if not was:
                self._due_if_large()

    def _due_if_large(self) -> None:
        group = self._group
        if len(group) >= self._options.commit_operations or group.octets >= self._options.commit_octets:
            self._due()

    def said(self, key: Hashable) -> Statement | None:
        """The change of this key, if there is one that is not on its way to the disk yet."""
        return self._group.said(key)

    def withdraw(self, key: Hashable) -> None:
        """Let that change be."""
        self._group.withdraw(key)

    def commit(self, at_leisure: bool = False) -> Deferred[None]:
        """A new Deferred for each caller; fires when all that was said so far is on the disk, or fails. Unless it is
        `at_leisure`, the group is due now."""
        if self.failure is not None:
            return fail(self.failure)
        group = self._group or self._in_flight
        if group is None:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        group.waiting.append(waiting)
        if not at_leisure:
            self._due()
        return waiting

    @inlineCallbacks
    def close(self, user: object) -> Generator[Deferred[Any], Any, None]:
        """Write out what was said, and close the file if nobody else uses it. Never fails."""
        if user not in self._users:
            return
        yield self.commit().addErrback(lambda _: None)  # it is in the log
        self._users.remove(user)
        if self._users or self._thread is None:
            return
        closed = self._in_thread(self.database.close, self.failure is None)
        yield closed.addErrback(lambda failure: _log.failure("{file}", failure, file=self.path))
        self._thread.stop()
        self._thread = None

    def _due(self) -> None:
        """The group need not wait for more: the thread gets it, at once or after the one that it has."""
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if self._group and self._in_flight is None and self._users:
            group, self._group = self._group, Group()
            self._in_flight = group
            self._in_thread(self.database.write, group).addCallbacks(self._committed, self._lost)

    def _committed(self, _: None) -> None:
        group, self._in_flight = self._in_flight, None
        if self._timer is None:
            self._due()
        assert group is not None, "it was in flight"
        for one in group.waiting:
            one.callback(None)

    def _lost(self, failure: Failure) -> None:
        self._failed(failure)

    def _opened(self, result: T) -> T:
        for note in self.database.notes:
            _log.warn("{file}: {note}", file=self.path, note=note)
        self.database.notes.clear()
        return result

    def _failed(self, failure: Failure) -> Failure:
        if self.failure is None:
            self.failure = StoreFailed(f"{self.path}: {failure.getErrorMessage()}")
            _log.critical("{error}; the store takes nothing more", error=self.failure)
            if not failure.check(StoreFailed, sqlite3.Error, OSError):
                _log.failure("this is a mistake of ours", failure)
            waiting = [one for group in (self._in_flight, self._group) if group for one in group.waiting]
            self._in_flight, self._group = None, Group()
            for one in waiting:
                one.errback(Failure(self.failure))
        return Failure(self.failure)

    def _in_thread(self, work: Callable[..., T], *arguments: Any) -> Deferred[T]:
        if self._thread is None:
            self._thread = ThreadPool(1, 1, "sqlite")
            self._thread.threadFactory = _Daemon
            self._thread.start()
        return deferToThreadPool(self._clock, self._thread, work, *arguments)
