"""How late is the reactor? What keeps it from its work for long keeps every client waiting.

A timer is set a little ahead again and again; how much too late it comes is how long everything else had to wait, too.
Four looks a second cost nothing, and find what takes longer than a quarter of a second for certain, shorter ones as
often as they happen.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.application.service import Service

from fmqbus.vitals import Distribution, Kind, Metric, Reading, Readings

INTERVAL_SECONDS = 0.25
#: What is told of as lately. A scraper looks four times a minute; a probe more often.
LATELY_SECONDS = 10.0

LAG = Metric("fmqbus_reactor_lag_seconds", Kind.HISTOGRAM, "How late timers of the reactor came, four times a second")
WORST_LAG = Metric("fmqbus_reactor_lag_worst_seconds", Kind.GAUGE, "The most of it in the last ten seconds")


class LagMeter(Service):
    """A service: it measures between its start and its stop. `clock` is an IReactorTime."""

    metrics = (LAG, WORST_LAG)

    def __init__(self, clock: Any, most_seconds: float, seconds: Callable[[], float] = time.monotonic) -> None:
        """More than `most_seconds` is not well. `seconds` tells the time that passes, which the reactor's clock does
        not where somebody sets the machine's."""
        self.distribution = Distribution()
        self._clock = clock
        self._most_seconds = most_seconds
        self._seconds = seconds
        self._due = 0.0
        self._lately: deque[float] = deque(maxlen=round(LATELY_SECONDS / INTERVAL_SECONDS))
        self._timer: Any = None

    def startService(self) -> None:
        """Begin to measure."""
        super().startService()
        self._set()

    def stopService(self) -> None:
        """Measure no more."""
        super().stopService()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def worst(self) -> float:
        """The most lately, in seconds; a timer that should have come by now counts already."""
        overdue = 0.0 if self._timer is None else self._seconds() - self._due
        return max(0.0, overdue, *self._lately)

    def check(self) -> str | None:
        """A `fmqbus.vitals.Check`."""
        worst = self.worst
        return f"the reactor was {worst:.1f} s late" if worst > self._most_seconds else None

    def readings(self) -> Readings:
        """For `fmqbus.vitals.Vitals`."""
        yield Reading(LAG, self.distribution)
        yield Reading(WORST_LAG, self.worst)

    def _set(self) -> None:
        self._due = self._seconds() + INTERVAL_SECONDS
        self._timer = self._clock.callLater(INTERVAL_SECONDS, self._look)

    def _look(self) -> None:
        lag = max(0.0, self._seconds() - self._due)
        self.distribution.add(lag)
        self._lately.append(lag)
        self._set()
