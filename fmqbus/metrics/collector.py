"""The vitals of a bus, as the collector of a registry of prometheus-client.

An embedding application shows the numbers of its bus beside its own, without any listener::

    REGISTRY.register(BusCollector(bus.router.vitals))

It must then have the registry collect in the reactor's thread, as everything else of the bus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from fmqbus.vitals import Distribution, Kind, Metric, Reading, Vitals

#: Of one metric. Labels are words of ours or of the configuration, so there are never so many; but should a part of a
#: vendor's forget that, its readings beyond these are put together.
MOST_SERIES = 1_000
#: What the labels of those are.
OTHERS = "(others)"

_Labels = tuple[str, ...]


class Survey:
    """The readings of one moment. Empty at first; taking the steps fills it."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals
        self._series: dict[Metric, dict[_Labels, float | Distribution]] = {metric: {} for metric in vitals.metrics}

    def steps(self) -> Iterator[None]:
        """Ask all parts; others may have their turn between any two steps."""
        for reading in self._vitals.readings():
            if reading is None:
                yield
            else:
                self._add(reading)

    def _add(self, reading: Reading) -> None:
        series = self._series.setdefault(reading.metric, {})
        labels = reading.labels
        if labels not in series and len(series) >= MOST_SERIES:
            labels = (OTHERS,) * len(labels)
        former, value = series.get(labels), reading.value
        if former is None:
            series[labels] = value
        elif isinstance(former, Distribution) and isinstance(value, Distribution):
            series[labels] = former.plus(value)
        elif not isinstance(former, Distribution) and not isinstance(value, Distribution):
            series[labels] = former + value

    def families(self) -> Iterator[Family]:
        """What was read, in the terms of prometheus-client; also metrics of which there is no number yet."""
        for metric, series in self._series.items():
            yield _family(metric, series)


class BusCollector(Collector):
    """All of one bus."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals

    def describe(self) -> Iterable[Family]:
        """What there can be, without asking anybody."""
        return Survey(self._vitals).families()

    def collect(self) -> Iterable[Family]:
        """Ask all parts now, whatever others wait for."""
        survey = Survey(self._vitals)
        for _ in survey.steps():
            """All in one turn: whoever calls this has no turns to share."""
        return survey.families()


def _family(metric: Metric, series: dict[_Labels, float | Distribution]) -> Family:
    if metric.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.summary, labels=metric.labels)
        for labels, value in series.items():
            if isinstance(value, Distribution):
                buckets = [("+Inf" if bound == inf else repr(bound), count) for bound, count in value.up_to()]
                histogram.add_metric(labels, buckets, value.sum)
        return histogram
    make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = make(metric.name, metric.summary, labels=metric.labels)
    for labels, value in series.items():
        if not isinstance(value, Distribution):
            family.add_metric(labels, value)
    return family
