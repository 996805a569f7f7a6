"""What does the report say? Asked of the journal with the jobs, and small enough then to be told anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from fmqbus.pipeline.jobs.table import JOBS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = Mapping[str, Any]

#: The lengths of time that a plot may have a point for, in seconds, and how many points it has at most.
_STEPS = (1, 5, 10, 60, 300, 900, 3600, 6 * 3600, 86_400, 7 * 86_400)
_MOST_POINTS = 180
#: Rows of each table.
MOST_ROWS = 15

#: Who lets messages rest for so long is worth a look.
_STALL_MS = 1000

#: What is asked for, in the order of the report.
STEPS = ("traffic", "topics", "demand", "delivery", "jobs", "slow", "sessions")


@attrs.frozen
class Figures:
    """All that is told."""

    source: str
    begin: datetime
    end: datetime
    #: How long one point of the plots is, in seconds.
    step: int
    #: time, protocol, messages, bytes, copies, unwanted, drops, rows, lost, latency_p95_ms; sorted by time.
    traffic: Sequence[Row]
    topics: Sequence[Row]
    demand: Sequence[Row]
    #: topics, publications, unwanted, saved: of all topics.
    demand_total: Row
    delivery: Sequence[Row]
    jobs: Sequence[Row]
    slow: Sequence[Row]
    #: By protocol: sessions, reconnections, and how long they lasted.
    sessions: Sequence[Row]
    reconnecting: Sequence[Row]

    def total(self, name: str) -> int:
        """The sum of a figure of traffic."""
        return sum(row[name] or 0 for row in self.traffic)

    @property
    def protocols(self) -> Sequence[Row]:
        """The figures of traffic by protocol, most messages first."""
        found: dict[str, dict[str, Any]] = {}
        for row in self.traffic:
            mine = found.setdefault(row["protocol"], {"protocol": row["protocol"], **dict.fromkeys(_COUNTS, 0)})
            for name in _COUNTS:
                mine[name] += row[name] or 0
        return sorted(found.values(), key=lambda row: -row["messages"])

    @property
    def worst(self) -> Sequence[Row]:
        """The rows of delivery that somebody should look at."""
        return [row for row in self.delivery if row["fate"] in ("lost", "duplicated", "stuck", "given-up", "expired")]


_COUNTS = ("messages", "bytes", "copies", "unwanted", "drops", "rows", "lost")


def step_for(begin: datetime, end: datetime) -> int:
    """How many seconds one point of a plot has, over such a time."""
    seconds = max((end - begin).total_seconds(), 1)
    return next((step for step in _STEPS if seconds / step <= _MOST_POINTS), _STEPS[-1])


def gather(
    rows: DataFrame, source: str, begin: datetime, end: datetime, done: Callable[[str], object] = lambda step: None
) -> Figures:
    """Ask for everything. `done` is called after each of `STEPS`."""
    step = step_for(begin, end)
    found: dict[str, Any] = {}
    for name in STEPS:
        found |= _ASK[name](rows, step)
        done(name)
    return Figures(source, begin, end, step, **found)


def _traffic(rows: DataFrame, step: int) -> Mapping[str, Any]:
    from pyspark.sql import functions as F

    from fmqbus.pipeline.jobs.kinds import ARRIVED, SETTLED, count_of, is_of, milliseconds, protocol

    ended = F.when(is_of(*SETTLED, "reply"), F.col("latency_us"))
    points = rows.groupBy(
        F.window("timestamp", f"{step} seconds").start.alias("time"), protocol().alias("protocol")
    ).agg(
        count_of(*ARRIVED).alias("messages"),
        F.sum(F.when(is_of(*ARRIVED), F.col("size"))).alias("bytes"),
        F.sum(F.when(is_of("publish"), F.col("subscribers"))).alias("copies"),
        F.count_if(is_of("publish") & (F.col("subscribers") == 0)).alias("unwanted"),
        count_of("drop").alias("drops"),
        F.count("*").alias("rows"),
        F.sum("lost").alias("lost"),
        milliseconds(F.percentile_approx(ended, 0.95)).alias("latency_p95_ms"),
    )
    return {"traffic": _rows(points.orderBy("time", "protocol"))}


def _topics(rows: DataFrame, step: int) -> Mapping[str, Any]:
    from pyspark.sql import functions as F

    from fmqbus.pipeline.jobs.kinds import ARRIVED, SETTLED, count_of, is_of, milliseconds

    ended = F.when(is_of(*SETTLED, "reply"), F.col("latency_us"))
    topics = (
        rows.where(F.col("topic").isNotNull() & ~is_of("demand"))
        .groupBy("topic")
        .agg(
            count_of(*ARRIVED).alias("messages"),
            F.coalesce(F.sum(F.when(is_of(*ARRIVED), F.col("size"))), F.lit(0)).alias("bytes"),
            F.count_if(is_of("publish") & (F.col("subscribers") == 0)).alias("unwanted"),
            milliseconds(F.percentile_approx(ended, 0.95)).alias("latency_p95_ms"),
        )
    )
    return {"topics": _rows(topics.orderBy(F.col("messages").desc(), "topic").limit(MOST_ROWS))}


def _demand(rows: DataFrame, step: int) -> Mapping[str, Any]:
    from pyspark.sql import functions as F

    demand = JOBS["demand"].run(rows).persist()
    total = demand.agg(
        F.count("*").alias("topics"),
        F.sum("publications").alias("publications"),
        F.sum("unwanted").alias("unwanted"),
        F.sum("saved").alias("saved"),
    )
    most = demand.where("unwanted > 0 OR saved > 0").orderBy(F.col("unwanted").desc(), F.col("saved").desc(), "topic")
    try:
        return {"demand_total": _rows(total)[0], "demand": _rows(most.limit(MOST_ROWS))}
    finally:
        demand.unpersist()


def _sessions(rows: DataFrame, step: int) -> Mapping[str, Any]:
    from pyspark.sql import functions as F

    sessions = JOBS["sessions"].run(rows).persist()
    by_protocol = sessions.groupBy("protocol").agg(
        F.count("*").alias("sessions"),
        F.count_if("is_reconnection").alias("reconnections"),
        F.round(F.percentile_approx("seconds", 0.5), 1).alias("seconds_p50"),
        F.count_if(F.col("until").isNull()).alias("still_there"),
    )
    again = (
        sessions.where("is_reconnection")
        .groupBy("who", "protocol")
        .agg(F.count("*").alias("reconnections"), F.max_by("reason", "since").alias("last_reason"))
        .orderBy(F.col("reconnections").desc(), "who")
        .limit(MOST_ROWS)
    )
    try:
        return {"sessions": _rows(by_protocol.orderBy("protocol")), "reconnecting": _rows(again)}
    finally:
        sessions.unpersist()


def _job(name: str, where: str | None = None) -> Callable[[DataFrame, int], Mapping[str, Any]]:
    def ask(rows: DataFrame, step: int) -> Mapping[str, Any]:
        from fmqbus.pipeline.telling import in_order

        job = JOBS[name]
        result = job.run(rows)
        if where is not None:
            result = result.where(where)
        return {name: _rows(in_order(result.select(*(job.shown or result.columns)), job.order).limit(MOST_ROWS))}

    return ask


_ASK: Mapping[str, Callable[[Any, int], Mapping[str, Any]]] = {
    "traffic": _traffic,
    "topics": _topics,
    "demand": _demand,
    "delivery": _job("delivery"),
    "jobs": _job("jobs"),
    "slow": _job("slow", f"drops > 0 OR longest_stall_ms >= {_STALL_MS}"),
    "sessions": _sessions,
}


def _rows(frame: DataFrame) -> Sequence[Row]:
    return [row.asDict() for row in frame.collect()]
