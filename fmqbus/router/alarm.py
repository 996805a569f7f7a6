"""When is there something to do? One timer, by the wall clock.

The wall clock can be set, and a machine can sleep: so the timer never waits longer than a minute before it looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from twisted.logger import Logger

from fmqbus.router.slices import Slices

_log = Logger()

_LONGEST_SECONDS = 60.0


class Alarm:
    """Has work done when it is due, in slices."""

    def __init__(
        self,
        clock: Any,
        now: Callable[[], float],
        slices: Slices,
        work: Callable[[], Iterator[None]],
        next_due: Callable[[], float | None],
        after_turn: Callable[[], None],
    ) -> None:
        """`now` tells the time. `work` does what is due, and should look at `is_stopped` after each step; `next_due`
        then tells when there is more, None for never. `after_turn` is called when a turn that the timer began is
        over."""
        self.is_stopped = False
        self._clock = clock
        self._now = now
        self._slices = slices
        self._work = work
        self._next_due = next_due
        self._after_turn = after_turn
        self._timer: Any = None
        #: When the timer looks next: never if there is none; at once while it is looking, and when it is stopped.
        self._looks_at = inf

    def due(self, when: float) -> None:
        """There is something to do at this time. Nobody need say that there no longer is: to look in vain costs less
        than to set the timer anew."""
        if when < self._looks_at:
            self._set(when)

    def stop(self) -> None:
        """Do nothing any more."""
        self.is_stopped = True
        self._looks_at = -inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, when: float) -> None:
        now = self._now()
        wait = min(max(when - now, 0.0), _LONGEST_SECONDS)
        self._looks_at = now + wait
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.callLater(wait, self._look)

    def _look(self) -> None:
        self._timer = None
        self._looks_at = -inf
        self._slices.run(self._steps()).addErrback(
            lambda failure: _log.failure("nothing of this kind becomes due any more", failure)
        )
        self._after_turn()

    def _steps(self) -> Iterator[None]:
        yield from self._work()
        if self.is_stopped:
            return
        self._looks_at = inf
        when = self._next_due()
        if when is not None:
            self._set(when)
