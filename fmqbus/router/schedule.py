"""What becomes due, and when? One timer for all of it.

A message that waits in a queue is due when its delay is over, or when it expires, whichever is next; one that a
consumer holds is not due at all. A call is due at its deadline. The times of messages are POSIX seconds, for they
outlive the process, and the wall clock can be set: so the timer never waits longer than a minute before it looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any, Generic, Protocol, TypeVar

from twisted.logger import Logger

from fmqbus.router.slices import STEP, Slices
from fmqbus.router.sorted_map import SortedMap

_log = Logger()

_LONGEST_SECONDS = 60.0


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
        self._clock = clock
        self._slices = slices
        self._told = told
        self._after_turn = after_turn
        self._due: SortedMap[tuple[float, int], T] = SortedMap()
        self._timer: Any = None
        #: When the timer looks next: never if there is none; at once while it is looking, and when it is stopped.
        self._looks_at = inf
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._due)

    def add(self, due: float, item: T) -> None:
        """It is due at this time; it is in here but once."""
        self._due.add((due, item.number), item)
        if due < self._looks_at:
            self._set_timer(due)

    def discard(self, due: float, item: T) -> None:
        """It no longer is, if it was."""
        # The timer stays: setting it anew for each of them would cost more than one look in vain.
        self._due.discard((due, item.number))

    def stop(self) -> None:
        """Tell nothing any more."""
        self._is_stopped = True
        self._looks_at = -inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self, due: float) -> None:
        now = self.now()
        wait = min(max(due - now, 0.0), _LONGEST_SECONDS)
        self._looks_at = now + wait
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.callLater(wait, self._look)

    def _look(self) -> None:
        self._timer = None
        self._looks_at = -inf
        self._slices.run(self._tell()).addErrback(
            lambda failure: _log.failure("nothing of this kind becomes due any more", failure)
        )
        self._after_turn()

    def _tell(self) -> Iterator[None]:
        while not self._is_stopped and (batch := self._take_due()):
            self._told(batch)
            yield
        if self._is_stopped:
            return
        self._looks_at = inf
        if self._due:
            self._set_timer(self._due.first_key[0])

    def _take_due(self) -> Sequence[T]:
        """The next that are due, out of here; empty if none is."""
        now = self.now()
        taken: list[T] = []
        while self._due and self._due.first_key[0] <= now and len(taken) < STEP:
            taken += self._due.peek(1)
            self._due.drop_first(1)
        return taken
