"""How is a survey written for a scraper? With the numbers of the process beside those of the bus.

Which form a scraper wants it says in its header ``Accept``. Only the name of the form is read: versions and ways of
escaping, which newer scrapers name too, make no difference for names like ours, and one that asks for what is not known
gets the plain form, as a browser does.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import CollectorRegistry

from fmqbus.metrics.collector import Survey

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class ProcessFigures:
    """CPU, memory, open files, start and garbage of this process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def families(self) -> Iterator[Family]:
        """As they are now."""
        yield from self._registry.collect()


def form_of(accept: str) -> str:
    """The form that fits what a scraper accepts: `PLAIN` or `OPEN_METRICS`."""
    wanted = (part.partition(";")[0].strip().lower() for part in accept.split(","))
    return OPEN_METRICS if OPEN_METRICS.partition(";")[0] in wanted else PLAIN


def written(form: str, survey: Survey, process: ProcessFigures) -> bytes:
    """The page, in one of the two forms."""
    families = [*survey.families(), *process.families()]
    page: bytes = (generate_openmetrics if form == OPEN_METRICS else generate_latest)(_Gathered(families))
    return page


class _Gathered:
    """Stands in for a registry where all has been collected already."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> list[Family]:
        return self._families
