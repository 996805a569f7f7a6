"""What does a client hear of, and under which id? Its subscriptions, watches and consumers.

A client has one subscription for a pattern, and one watch; a second takes the place of the first, whose topic ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fmqbus.errors import PeerError
from fmqbus.interfaces import ISession
from fmqbus.model import Consumer, Outcome, Overflow
from fmqbus.names import equivalent


class Topics:
    """Those of one client. Ids are checked before: none is used twice at a time."""

    def __init__(self, bus: ISession) -> None:
        self._bus = bus
        self._subscribed: dict[bytes, int] = {}
        self._watched: dict[bytes, int] = {}
        self._consumers: dict[int, Consumer] = {}
        #: How each is ended on the bus.
        self._ends: dict[int, Callable[[], object]] = {}

    def subscribe(self, pattern: bytes, id: int, hidden: bool, overflow: Overflow | None) -> int | None:
        """Returns the id of the topic that this replaces. Raises as `ISession.subscribe`."""
        self._bus.subscribe(pattern, hidden, overflow, tag=id)

        def end() -> None:
            del self._subscribed[pattern]
            self._bus.unsubscribe(pattern)

        return self._replace(self._subscribed, pattern, id, end)

    def watch(self, pattern: bytes, id: int) -> int | None:
        """As `subscribe`. Raises as `ISession.watch_interest`."""
        self._bus.watch_interest(pattern)

        def end() -> None:
            del self._watched[pattern]
            self._bus.unwatch_interest(pattern)

        return self._replace(self._watched, pattern, id, end)

    def consume(self, queue: bytes, id: int, window: int, weight: int) -> None:
        """Raises as `ISession.consume`."""
        consumer = self._consumers[id] = self._bus.consume(queue, window, weight, tag=id)

        def end() -> None:
            del self._consumers[id]
            self._bus.cancel(consumer)

        self._ends[id] = end

    def settle(self, id: int, numbers: Sequence[int], outcome: Outcome, reason: str) -> int:
        """Returns how many were settled. Raises `PeerError` if this is no consumer's id."""
        consumer = self._consumers.get(id)
        if consumer is None:
            raise PeerError("no queue is consumed under this id", "topic-id")
        return self._bus.settle(consumer, numbers, outcome, reason)

    def watches_of(self, pattern: bytes) -> Iterator[int]:
        """The ids under which a change of interest in this pattern is told."""
        return (id for watched, id in self._watched.items() if equivalent(watched, pattern))

    def end(self, id: int) -> None:
        """The client wants no more of it."""
        end = self._ends.pop(id, None)
        if end is not None:
            end()

    def forget(self, id: int) -> None:
        """The bus has ended it."""
        self._ends.pop(id, None)
        self._consumers.pop(id, None)
        for by_pattern in (self._subscribed, self._watched):
            for pattern in [pattern for pattern, other in by_pattern.items() if other == id]:
                del by_pattern[pattern]

    def _replace(self, by_pattern: dict[bytes, int], pattern: bytes, id: int, end: Callable[[], None]) -> int | None:
        former = by_pattern.get(pattern)
        by_pattern[pattern] = id
        self._ends[id] = end
        if former is not None:
            del self._ends[former]
        return former
