"""How is the broker? Its memory over time, and what it says of itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import attrs

from tests.adversarial.measure import memory_of
from tests.live.broker import Broker
from tests.soak.figures import Figures

_EVERY_SECONDS, _ASK_EVERY_SECONDS = 2.0, 9.0
#: Until then a broker is still getting what it keeps: routes, caches, the first connections of all members.
_WARM_UP_SECONDS = 120.0
#: With less to look at nothing is said of a slope, and with less than this it is no slope that counts.
_LEAST_SECONDS, COUNTS_SECONDS = 200.0, 900.0


@attrs.frozen
class Sample:
    """The broker's memory at a moment of its life."""

    #: Seconds since the broker listened.
    at: float
    memory_mib: float


class Health:
    """Of one broker, from when it listens to its end."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._begun = time.monotonic()
        self._due = self._due_to_ask = self._begun
        self.samples: list[Sample] = []
        #: What there is without any client but the witness.
        self.before = Figures(broker).remains
        self.worst_lag_ms = 0.0

    def look(self) -> None:
        """To be called often; looks now and then."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _EVERY_SECONDS
            self.samples.append(Sample(now - self._begun, memory_of(self._broker)[0]))
        if now >= self._due_to_ask:
            self._due_to_ask = now + _ASK_EVERY_SECONDS
            self.worst_lag_ms = max(self.worst_lag_ms, Figures(self._broker).worst_lag_ms)

    @property
    def peak_mib(self) -> float:
        """The most memory that was seen."""
        return max((sample.memory_mib for sample in self.samples), default=0.0)

    @property
    def is_long(self) -> bool:
        """Whether the slope says something."""
        return bool(self.samples) and self.samples[-1].at >= _WARM_UP_SECONDS + COUNTS_SECONDS

    @property
    def slope_mib_per_hour(self) -> float | None:
        """By how much memory grows after the warm-up; None if the broker has not lived long enough."""
        return slope(self.samples)


def slope(samples: Sequence[Sample]) -> float | None:
    """By least squares, over the lowest memory of each tenth of the time: what is there always and not now and then."""
    warm = [sample for sample in samples if sample.at >= _WARM_UP_SECONDS]
    if not warm or warm[-1].at - warm[0].at < _LEAST_SECONDS:
        return None
    size = len(warm) // 10
    lowest = [min(warm[at : at + size], key=lambda sample: sample.memory_mib) for at in range(0, size * 10, size)]
    found = statistics.linear_regression([one.at for one in lowest], [one.memory_mib for one in lowest])
    return found.slope * 3600
