"""How does what arrives reach the application's coroutine or callback, and what if that is too slow?

A feed is bounded in items and in octets. It never slows the connection down, since others share it:
where the reader does not keep up, the **oldest** items go, for the data of this protocol ages fast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from fmqbus.errors import LocalError

#: Enough to ride out a burst of one read at small sizes.
MAX_QUEUE = 10_000


class Measured(Protocol):
    """Something that takes room in a queue."""

    @property
    def octets(self) -> int:
        """How much."""


T = TypeVar("T", bound=Measured)


class Feed(Generic[T]):
    """An asynchronous iterator for one reader, or, with `callback`, a call for each item instead.

    Ends when `stop` is called, by the application or because the client stops. Leaving a ``with`` block over the feed
    stops it. A callback that raises is logged; the feed goes on.
    """

    _log = Logger()

    def __init__(self, max_queue: int, max_octets: int, callback: Callable[[T], object] | None = None) -> None:
        if max_queue < 1:
            raise LocalError(f"a queue of {max_queue} items cannot hold anything")
        self.is_stopped = False
        #: Items that a slow reader never saw.
        self.dropped = 0
        self._max_queue = max_queue
        self._max_octets = max_octets
        self._callback = callback
        self._items: deque[T] = deque()
        self._octets = 0
        self._reader: Deferred[None] | None = None
        self._error: Exception | None = None

    def extend(self, items: Sequence[T]) -> None:
        """Take what has arrived, in order."""
        if self._callback is not None:
            self._call_back(items, self._callback)
            return
        for item in items:
            if self._is_full(item):
                self._wake_reader()  # one that waits takes all there is before this returns
            if self.is_stopped:
                return
            while self._items and self._is_full(item):
                self._octets -= self._items.popleft().octets
                self.dropped += 1
            self._items.append(item)
            self._octets += item.octets
        self._wake_reader()

    def stop(self) -> None:
        """Nothing comes any more, not even what is queued. May be repeated."""
        self.is_stopped = True
        self.clear()
        self._wake_reader()

    def fail(self, error: Exception) -> None:
        """Stop; a reader is told why. Where a callback reads, the log is."""
        if self._callback is not None:
            self._log.warn("{feed!r} has ended: {error}", feed=self, error=error)
        self._error = error
        self.stop()

    def clear(self) -> None:
        """Forget what is queued."""
        self._items.clear()
        self._octets = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self.is_stopped:
                raise self._error or StopAsyncIteration
            if self._reader is not None:
                raise LocalError("a feed has one reader; another coroutine already waits for the next item")
            self._reader = Deferred()
            try:
                await self._reader
            finally:
                self._reader = None
        item = self._items.popleft()
        self._octets -= item.octets
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _is_full(self, item: T) -> bool:
        return len(self._items) >= self._max_queue or self._octets + item.octets > self._max_octets

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.called:
            self._reader.callback(None)

    def _call_back(self, items: Sequence[T], callback: Callable[[T], object]) -> None:
        for item in items:
            if self.is_stopped:
                return
            try:
                callback(item)
            except Exception:
                self._log.failure("A callback of {feed!r} failed.", feed=self)
