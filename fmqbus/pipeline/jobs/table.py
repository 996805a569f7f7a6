"""Which jobs are there, and what does each need? One line each; a job is imported only where it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What every job may look at: when and where in the journal.
_PLACE = ("timestamp", "partition", "offset", "boot", "kind")


@attrs.frozen
class Job:
    """One question to the journal."""

    name: str
    summary: str
    #: The columns of the data source that it looks at beside `_PLACE`; no others are read.
    columns: Sequence[str]
    #: How the result is sorted for people; a minus means the largest first.
    order: Sequence[str] = ()
    #: What a terminal shows of the result; all if it is empty. Files have all of it.
    shown: Sequence[str] = ()
    #: How a stream gives its result (Spark's output mode); None if it needs all rows at once.
    streams: Literal["append"] | None = None
    #: Its own options, by the names of the function's parameters.
    options: Sequence[str] = ()

    @property
    def needs(self) -> Sequence[str]:
        """All columns that have to be read."""
        return (*_PLACE, *(name for name in self.columns if name not in _PLACE))

    def run(self, rows: DataFrame, **options: Any) -> DataFrame:
        """Answer it. Imports the job."""
        function: Callable[..., DataFrame] = getattr(import_module(f"fmqbus.pipeline.jobs.{self.name}"), self.name)
        return function(rows, **options)


_QUEUE = ("topic", "message_id", "size", "value", "outcome", "client", "latency_us")

JOBS: Mapping[str, Job] = {
    job.name: job
    for job in (
        Job(
            "traffic",
            "Messages, octets, sizes and latency per minute, protocol and topic.",
            ("protocol", "topic", "size", "subscribers", "latency_us"),
            ("time", "-messages", "protocol", "topic"),
            ("time", "protocol", "topic", "messages", "bytes", "per_second", "unwanted", "drops", "latency_p95_ms"),
            streams="append",
            options=("every",),
        ),
        Job(
            "demand",
            "Which topics were wanted, what nobody wanted, and what feedback saved.",
            ("topic", "size", "subscribers"),
            ("-unwanted", "-publications", "topic"),
        ),
        Job(
            "jobs",
            "How long jobs waited and ran, retries and failures, per queue and callable.",
            _QUEUE,
            ("queue", "-jobs", "callable"),
            ("queue", "callable", "jobs", "done", "failed", "open", "retries", "wait_p95_ms", "run_p95_ms"),
        ),
        Job(
            "delivery",
            "What became of every message of a queue: lost, handled twice, stuck?",
            _QUEUE,
            ("queue", "-messages", "fate"),
            options=("stuck_seconds",),
        ),
        Job(
            "slow",
            "Clients that could not keep up: drops, latency, stalls.",
            ("protocol", "session", "client", "principal", "topic", "size", "outcome", "latency_us"),
            ("-drops", "-longest_stall_ms", "topic"),
            ("client", "topic", "drops", "reasons", "settled", "most_in_hand", "longest_stall_ms", "latency_p95_ms"),
        ),
        Job(
            "sessions",
            "Who was connected when, and who had to come again.",
            ("protocol", "session", "client", "principal", "size", "outcome", "latency_us"),
            ("since", "who"),
            ("since", "until", "who", "protocol", "seconds", "reason", "is_reconnection", "sent", "taken"),
        ),
    )
}
