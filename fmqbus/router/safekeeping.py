"""When is a message of a durable queue safe, and who waits to hear it?

The store works in groups: all that one turn brought is committed together, and `flush` asks for that once. A message
that a consumer accepts before it is safe needs the disk no more; its producer is told at once. When the store has
failed, nothing new is taken for durable queues; what is in memory goes on being delivered as long as the process lives,
also what could not be committed: its producer knows that it may be lost, and will say it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.errors import StoreFailed
from fmqbus.interfaces import IMessageStore
from fmqbus.model import StoredMessage
from fmqbus.vitals import Distribution

_log = Logger()


class Safekeeping:
    """The message store of one bus, and those who wait for it."""

    def __init__(self, store: IMessageStore, seconds: Callable[[], float]) -> None:
        """`seconds` is a clock that never goes back."""
        self._store = store
        self._seconds = seconds
        #: How long commits took, from the turn that asked for them.
        self.commit_seconds = Distribution()
        #: Why nothing more is kept; None while all is well.
        self.failure: StoreFailed | None = None
        self._waiting: dict[StoredMessage, Deferred[None]] = {}
        #: Appended since the last flush, with somebody waiting.
        self._new: list[StoredMessage] = []
        #: To be fired in the next flush.
        self._safe: list[Deferred[None]] = []

    def append(self, stored: StoredMessage) -> None:
        """Keep a message; nobody waits for it."""
        if self.failure is None:
            self._store.append(stored)

    def together(self) -> AbstractContextManager[None]:
        """See `IMessageStore.together`."""
        return self._store.together()

    def when_safe(self, stored: StoredMessage) -> Deferred[None]:
        """Of a message that was just appended, see `ISession.enqueue`."""
        waiting = self._waiting[stored] = Deferred()
        self._new.append(stored)
        return waiting

    def delivered(self, messages: Sequence[StoredMessage]) -> None:
        """These have been handed out once more."""
        if self.failure is None:
            for stored in messages:
                self._store.delivered(stored)

    def accepted(self, stored: StoredMessage) -> None:
        """It is done with."""
        self.remove(stored)
        waiting = self._waiting.pop(stored, None)
        if waiting is not None:
            self._safe.append(waiting)

    def remove(self, stored: StoredMessage) -> None:
        """It has left its queue."""
        if self.failure is None:
            self._store.remove(stored.queue, stored.number)

    def flush(self) -> None:
        """The turn is over: commit what it brought, and tell those whose messages were accepted."""
        if self._new:
            group, self._new = self._new, []
            now = self._seconds()
            # What a consumer has already may be accepted before it has to be written.
            self._store.commit(at_leisure=all(stored.deliveries for stored in group)).addCallbacks(
                self._committed, self._failed, callbackArgs=(group, now), errbackArgs=(group,)
            ).addErrback(lambda failure: _log.failure("a producer's acknowledgement failed", failure))
        if self._safe:
            safe, self._safe = self._safe, []
            for waiting in safe:
                waiting.callback(None)

    def fail(self, failure: Failure) -> None:
        """The store takes nothing more."""
        if self.failure is None:
            self.failure = StoreFailed(failure.getErrorMessage())
            _log.critical("the message store has failed, durable queues take nothing more: {error}", error=self.failure)

    def close(self) -> Deferred[None]:
        """Write out what is not yet safe, and keep nothing any more."""
        self.failure = self.failure or StoreFailed("the bus has ended")
        return self._store.close()

    def _committed(self, _: None, group: list[StoredMessage], since: float) -> None:
        self.commit_seconds.add(self._seconds() - since)
        for stored in group:
            waiting = self._waiting.pop(stored, None)
            if waiting is not None:
                waiting.callback(None)

    def _failed(self, failure: Failure, group: list[StoredMessage]) -> None:
        self.fail(failure)
        for stored in group:
            waiting = self._waiting.pop(stored, None)
            if waiting is not None:
                waiting.errback(StoreFailed(failure.getErrorMessage()))
