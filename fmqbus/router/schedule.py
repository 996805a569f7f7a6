"""Which messages of the queues become due, and when? One timer for all of them.

A message that waits in a queue is due when its delay is over, or when it expires, whichever is next; one that a
consumer holds is not due at all. Times are POSIX seconds, for they outlive the process. The wall clock can be set: so
the timer never waits longer than a minute before it looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

from twisted.logger import Logger

from fmqbus.model import StoredMessage
from fmqbus.router.slices import STEP, Slices
from fmqbus.router.sorted_map import SortedMap

_log = Logger()

_LONGEST_SECONDS = 60.0


class Schedule:
    """What is due when, over all queues of a bus."""

    def __init__(
        self,
        clock: Any,
        wall: Callable[[], float],
        slices: Slices,
        told: Callable[[Sequence[StoredMessage]], None],
        after_turn: Callable[[], None],
    ) -> None:
        """`wall` tells the time. `told` is called with messages that are due and no longer in here, `after_turn` when a
        turn that the timer began is over."""
        #: The time, in POSIX seconds.
        self.now = wall
        self._clock = clock
        self._slices = slices
        self._told = told
        self._after_turn = after_turn
        self._due: SortedMap[tuple[float, int], StoredMessage] = SortedMap()
        self._timer: Any = None
        #: When the timer looks next: never if there is none; at once while it is looking, and when it is stopped.
        self._looks_at = inf
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._due)

    def add(self, due: float, stored: StoredMessage) -> None:
        """The message is due at this time; it is in here but once."""
        self._due.add((due, stored.number), stored)
        if due < self._looks_at:
            self._set_timer(due)

    def discard(self, due: float, stored: StoredMessage) -> None:
        """It no longer is, if it was."""
        # The timer stays: setting it anew for each message would cost more than one look in vain.
        self._due.discard((due, stored.number))

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
            lambda failure: _log.failure("nothing in the queues becomes due any more", failure)
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

    def _take_due(self) -> Sequence[StoredMessage]:
        """The next that are due, out of here; empty if none is."""
        now = self.now()
        taken: list[StoredMessage] = []
        while self._due and self._due.first_key[0] <= now and len(taken) < STEP:
            taken += self._due.peek(1)
            self._due.drop_first(1)
        return taken
