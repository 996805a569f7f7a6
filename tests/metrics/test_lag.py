"""How late is the reactor?"""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.metrics.lag import INTERVAL_SECONDS, LAG, LATELY_SECONDS, WORST_LAG, LagMeter
from fmqbus.vitals import Distribution


class Slow:
    """A reactor whose time goes on while it does nothing."""

    def __init__(self, most_seconds: float = 1.0) -> None:
        self.clock = Clock()
        self.idle = 0.0
        self.meter = LagMeter(self.clock, most_seconds, self.seconds)
        self.meter.startService()

    def seconds(self) -> float:
        return self.clock.seconds() + self.idle

    def go_on(self, seconds: float, late: float = 0.0) -> None:
        """Time passes; the first timer that comes is so late."""
        self.idle += late
        for _ in range(round(seconds / INTERVAL_SECONDS)):
            self.clock.advance(INTERVAL_SECONDS)


def readings(meter: LagMeter) -> dict[object, object]:
    """By metric."""
    return {reading.metric: reading.value for reading in meter.readings() if reading}


def test_a_reactor_that_is_in_time_has_no_lag() -> None:
    """Four looks a second."""
    slow = Slow()
    slow.go_on(10.0)
    distribution = readings(slow.meter)[LAG]
    assert isinstance(distribution, Distribution)
    assert distribution.up_to()[0] == (0.001, 40)
    assert slow.meter.worst == 0.0
    assert slow.meter.check() is None


def test_what_keeps_the_reactor_from_its_work_shows_and_is_forgotten() -> None:
    """In the distribution for good, else for ten seconds."""
    slow = Slow(most_seconds=1.0)
    slow.go_on(1.0, late=1.5)
    assert slow.meter.worst == pytest.approx(1.5)
    assert slow.meter.check() == "the reactor was 1.5 s late"
    slow.go_on(LATELY_SECONDS)
    assert slow.meter.worst == 0.0
    assert slow.meter.check() is None
    assert readings(slow.meter)[LAG].sum == pytest.approx(1.5)  # type: ignore[attr-defined]


def test_a_lag_within_bounds_is_well() -> None:
    """It is told all the same."""
    slow = Slow(most_seconds=2.0)
    slow.go_on(1.0, late=1.5)
    assert readings(slow.meter)[WORST_LAG] == pytest.approx(1.5)
    assert slow.meter.check() is None


def test_a_timer_that_should_have_come_by_now_counts_already() -> None:
    """Whoever asks in the first turn after a long one must not hear that all is well."""
    slow = Slow(most_seconds=1.0)
    slow.idle += 3.0
    assert slow.meter.check() == "the reactor was 2.8 s late"


def test_it_ends() -> None:
    """And can begin anew."""
    slow = Slow()
    slow.meter.stopService()
    slow.meter.stopService()
    assert slow.clock.getDelayedCalls() == []
    slow.meter.startService()
    slow.go_on(1.0)
    assert slow.meter.worst == 0.0
