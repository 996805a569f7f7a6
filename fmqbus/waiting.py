"""How do many wait for one event, and how does one wait for the first of many?"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import CancelledError, Deferred, DeferredList, FirstError


class Waiters:
    """All who wait for the same event. Each gets a Deferred of its own, which it may cancel."""

    def __init__(self) -> None:
        self._waiting: dict[Deferred[None], None] = {}

    def wait(self) -> Deferred[None]:
        """Return a Deferred for the next time the event happens. Cancelling it disturbs nobody else."""
        deferred: Deferred[None] = Deferred(lambda cancelled: self._waiting.pop(cancelled, None))
        self._waiting[deferred] = None
        return deferred

    def fire(self) -> None:
        """The event has happened."""
        for deferred in self._taken():
            deferred.callback(None)

    def fail(self, reason: Exception) -> None:
        """The event will not happen any more."""
        for deferred in self._taken():
            deferred.errback(reason)

    def _taken(self) -> Iterator[Deferred[None]]:
        """Take everybody out first, since a callback may wait again; it may also cancel a neighbour."""
        waiting, self._waiting = self._waiting, {}
        return (deferred for deferred in waiting if not deferred.called)


async def first_of(*deferreds: Deferred[None]) -> int:
    """Wait for the first to end, cancel the others, and return which it was. Raises what it failed with.

    Unlike `twisted.internet.defer.race`, a failure ends the wait. What another fails with after it was cancelled stays
    in its Deferred, but for the cancellation itself.
    """
    try:
        _, index = await DeferredList(deferreds, fireOnOneCallback=True, fireOnOneErrback=True)
        return int(index)
    except FirstError as error:
        deferreds[error.index].addErrback(lambda seen: None)
        raise error.subFailure.value from None  # type: ignore[misc]  # typed as optional, never None
    finally:
        for deferred in deferreds:
            deferred.addErrback(lambda reason: reason.trap(CancelledError) and None)
            deferred.cancel()
