"""Traffic is counted by minute, protocol and topic, at once and in a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from fmqbus.pipeline.jobs.traffic import traffic
from tests.pipeline.jobs.frames import at, frame, told
from tests.pipeline.reading import read

pytestmark = pytest.mark.spark


def test_what_came_is_counted_by_minute_protocol_and_topic(spark: Any) -> None:
    """Copies, what nobody wanted, and drops with it."""
    rows = frame(
        spark,
        [
            {"kind": "publish", "protocol": "fmqp", "topic": "a", "size": 10, "subscribers": 3, "at": 1},
            {"kind": "publish", "protocol": "fmqp", "topic": "a", "size": 30, "subscribers": 0, "at": 2},
            {"kind": "drop", "protocol": "fmqp", "topic": "a", "size": 10, "at": 3},
            {"kind": "publish", "protocol": "umq", "topic": "a", "size": 5, "subscribers": 1, "at": 4},
            {"kind": "publish", "protocol": "fmqp", "topic": "a", "size": 7, "subscribers": 1, "at": 61},
            {"kind": "publish", "topic": "a", "size": 7, "subscribers": 1, "at": 62},
            {"kind": "demand", "protocol": "fmqp", "topic": "a", "subscribers": 1, "at": 5},
            {"kind": "connect", "protocol": "fmqp", "at": 6},
        ],
    )
    columns = ("time", "protocol", "topic", "messages", "bytes", "size_min", "size_max", "copies", "unwanted", "drops")
    assert told(traffic(rows), *columns) == [
        (at(0), "fmqp", "a", 2, 40, 10, 30, 3, 1, 1),
        (at(0), "umq", "a", 1, 5, 5, 5, 1, 0, 0),
        (at(60), "bus", "a", 1, 7, 7, 7, 1, 0, 0),
        (at(60), "fmqp", "a", 1, 7, 7, 7, 1, 0, 0),
    ]
    assert told(traffic(rows, "1 hour"), "topic", "protocol", "per_second")[1] == ("a", "fmqp", round(3 / 3600, 3))


def test_latency_is_that_of_what_ended(spark: Any) -> None:
    """Of messages that were settled and calls that were answered; how long somebody was connected is none."""
    events = [
        {"kind": "settle", "protocol": "umq", "topic": "q", "latency_us": n * 1000, "at": n / 100}
        for n in range(1, 101)
    ]
    events.append({"kind": "disconnect", "protocol": "umq", "topic": "q", "latency_us": 10**9, "at": 2})
    rows = frame(spark, events)
    assert told(traffic(rows), "latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms") == [
        (50.0, 95.0, 99.0, 100.0)
    ]


def test_a_journal_gives_what_an_oracle_counts(spark: Any, sample: Path) -> None:
    """DuckDB, on the same rows."""
    rows = spark.read.format("fmqbus").option("includeMetadata", "true").load(str(sample))
    journal = read(sample, includeMetadata=True)  # noqa: F841  DuckDB reads it by its name
    duckdb.sql("SET TimeZone = 'UTC'")
    oracle = duckdb.sql(
        "SELECT coalesce(protocol, 'bus'), topic, count(*) FILTER (kind IN ('publish', 'enqueue')), "
        "coalesce(sum(size) FILTER (kind IN ('publish', 'enqueue')), 0)::bigint, "
        "max(latency_us) FILTER (kind IN ('settle', 'release', 'reject', 'reply')) / 1000 "
        "FROM journal WHERE topic IS NOT NULL GROUP BY ALL ORDER BY 1, 2"
    ).fetchall()
    assert told(traffic(rows), "protocol", "topic", "messages", "bytes", "latency_max_ms") == oracle


def test_a_stream_tells_the_same(spark: Any, sample: Path, tmp_path: Path) -> None:
    """Each time once, when it is over: all of them, where the stream ends with what is there."""
    rows = (
        spark.readStream.format("fmqbus")
        .options(includeMetadata="true", startingOffsets="earliest", maxOffsetsPerTrigger="1000")
        .load(str(sample))
    )
    query = (
        traffic(rows, "20 milliseconds")
        .writeStream.format("memory")
        .queryName("traffic_stream")
        .outputMode("update")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    latest = spark.sql("SELECT time, protocol, topic, max(messages) AS messages FROM traffic_stream GROUP BY 1, 2, 3")
    batch = traffic(spark.read.format("fmqbus").option("includeMetadata", "true").load(str(sample)), "20 milliseconds")
    columns = ("time", "protocol", "topic", "messages")
    assert told(latest, *columns) == told(batch, *columns)
