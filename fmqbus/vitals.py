"""What does a bus tell those who run it? Numbers when it is asked for them, and whether it is well.

The parts of a bus know their own numbers; here they say how to ask for them. Nothing is gathered until somebody asks,
so counting costs a part no more than a plain attribute. Whoever asks gets one reading after the other and may let
others have their turn in between: a bus can have more sessions than should be looked at in one.

A part adds itself while the bus is made, as the journal of a bus could::

    router.vitals.add_figures([RECORDS], lambda: iter([Reading(RECORDS, journal.records)]))
    router.vitals.ready.add("journal", lambda: journal.failure and str(journal.failure))
"""

from __future__ import annotations

import enum
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf

import attrs
from twisted.logger import Logger

_log = Logger()

#: Upper bounds of durations, in seconds: from what nobody feels to what everybody does.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Kind(enum.Enum):
    """How a number behaves."""

    #: Only rises, for as long as the bus lives.
    COUNTER = "counter"
    #: Rises and falls.
    GAUGE = "gauge"
    #: A `Distribution`.
    HISTOGRAM = "histogram"


@attrs.frozen(slots=True)
class Metric:
    """What is measured. Names are as Prometheus has them: ``fmqbus_`` first, the unit last, which is a base unit
    (seconds, bytes); what is counted ends in ``_total``."""

    name: str
    kind: Kind
    #: One sentence, without its full stop.
    summary: str
    #: What tells readings of it apart. Their values are words of ours or of the configuration, never a peer's.
    labels: tuple[str, ...] = ()


class Distribution:
    """How often something was how much. Adding takes constant time."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        """`bounds` rise; each is the most that still counts below it."""
        self._bounds = (*bounds, inf)
        self._counts = [0] * len(self._bounds)
        #: Of all that was added.
        self.sum = 0.0

    def add(self, amount: float) -> None:
        """It was so much once more."""
        self._counts[bisect_left(self._bounds, amount)] += 1
        self.sum += amount

    def plus(self, other: Distribution) -> Distribution:
        """Both together, as a new one; the other has the same bounds."""
        both = Distribution(self._bounds[:-1])
        both._counts = [one + more for one, more in zip(self._counts, other._counts, strict=True)]
        both.sum = self.sum + other.sum
        return both

    def up_to(self) -> Sequence[tuple[float, int]]:
        """Each bound, and how often it was no more than that; the last bound is infinite, and so has all."""
        return list(zip(self._bounds, accumulate(self._counts), strict=True))


@attrs.frozen(slots=True)
class Reading:
    """One number. Several of one metric with equal labels are parts of a sum."""

    metric: Metric
    value: float | Distribution
    #: The values of the metric's labels, in their order.
    labels: tuple[str, ...] = ()


#: Readings, and None wherever others may have their turn.
Readings = Iterator[Reading | None]

#: Why something is not as it should be, in words for operators; None (or empty) while it is.
Check = Callable[[], str | None]


class Checks:
    """What all has to be well."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        """Have this looked at too, each time that somebody asks: it must return at once. A later one of the same name
        takes the place of the former."""
        self._checks[name] = check

    def results(self) -> Mapping[str, str | None]:
        """What each of them says now. One that raises is not well."""
        return {name: self._result(name, check) for name, check in self._checks.items()}

    def _result(self, name: str, check: Check) -> str | None:
        try:
            return check() or None
        except Exception:
            _log.failure("the check {name} has failed", name=name)
            return "the check itself has failed; the log tells why"


class Vitals:
    """What one bus tells."""

    def __init__(self) -> None:
        #: Whether the process does its work at all: if not, it is better begun anew.
        self.alive = Checks()
        #: Whether clients should come to this bus now.
        self.ready = Checks()
        self._sources: list[tuple[Sequence[Metric], Callable[[], Readings]]] = []

    @property
    def metrics(self) -> Sequence[Metric]:
        """All that can be read, whether or not there is a number of it now."""
        return list(dict.fromkeys(metric for metrics, _ in self._sources for metric in metrics))

    def add_figures(self, metrics: Sequence[Metric], read: Callable[[], Readings]) -> None:
        """Tell these too: `read` is called each time that somebody asks, in the reactor's thread, and tells of no
        others."""
        self._sources.append((metrics, read))

    def readings(self) -> Readings:
        """Ask all parts. What one of them has not told before it raises is left out, and that is reported."""
        for metrics, read in self._sources:
            try:
                yield from read()
            except Exception:
                _log.failure("the figures of {names} cannot be read", names=[metric.name for metric in metrics])
            yield None
