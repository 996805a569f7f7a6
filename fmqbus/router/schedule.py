"""What becomes due, and when? One timer for all of it.

A message that waits in a queue is due when its delay is over, or when it expires, whichever is next; one that a
consumer holds is not due at all. A call is due at its deadline. The times of messages are POSIX seconds, for they
outlive the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from fmqbus.router.alarm import Alarm
from fmqbus.router.slices import STEP, Slices
from fmqbus.router.sorted_map import SortedMap


class Numbered(Protocol):
    """What can be due; its number is its own."""

    @property
    def number(self) -> int:
        """The order of what is due at the same time."""


T = TypeVar("T", bound=Numbered)


class Schedule(Generic[T]):
    """What is due when, of one kind and one bus."""

    def __init__(
        self,
        clock: Any,
        now: Callable[[], float],
        slices: Slices,
        told: Callable[[Sequence[T]], None],
        after_turn: Callable[[], None],
    ) -> None:
        """`now` tells the time. `told` is called with what is due and no longer in here, `after_turn` when a turn that
        the timer began is over."""
        #: The time, in seconds, as all times in here.
        self.now = now
        self._told = told
        self._due: SortedMap[tuple[float, int], T] = SortedMap()
        self._alarm = Alarm(clock, now, slices, self._tell, self._next_due, after_turn)

    def __len__(self) -> int:
        return len(self._due)

    def add(self, due: float, item: T) -> None:
        """It is due at this time; it is in here but once."""
        self._due.add((due, item.number), item)
        self._alarm.due(due)

    def discard(self, due: float, item: T) -> None:
        """It no longer is, if it was."""
        self._due.discard((due, item.number))

    def stop(self) -> None:
        """Tell nothing any more."""
        self._alarm.stop()

    def _tell(self) -> Iterator[None]:
        while not self._alarm.is_stopped and (batch := self._take_due()):
            self._told(batch)
            yield

    def _next_due(self) -> float | None:
        return self._due.first_key[0] if self._due else None

    def _take_due(self) -> Sequence[T]:
        """The next that are due, out of here; empty if none is."""
        now = self.now()
        taken: list[T] = []
        while self._due and self._due.first_key[0] <= now and len(taken) < STEP:
            taken += self._due.peek(1)
            self._due.drop_first(1)
        return taken
