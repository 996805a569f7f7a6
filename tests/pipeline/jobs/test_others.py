"""Sessions, and the journal in other forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fmqbus.pipeline.jobs.compact import compact
from fmqbus.pipeline.jobs.export import export
from fmqbus.pipeline.jobs.replay import replay
from fmqbus.pipeline.jobs.sessions import sessions
from tests.pipeline.conftest import ROWS
from tests.pipeline.jobs.frames import at, frame, told

pytestmark = pytest.mark.spark


def of(session: int, kind: str, seconds: float, **more: Any) -> dict[str, Any]:
    """What a client does."""
    return {
        "kind": kind,
        "session": session,
        "protocol": "umq",
        "client": f"10.0.0.1:{4000 + session}",
        "at": seconds,
        **more,
    }


def test_sessions_are_told_with_who_came_again(spark: Any) -> None:
    """The same host soon after, or the same name from anywhere; not whoever came much later."""
    rows = frame(
        spark,
        [
            of(1, "connect", 0),
            of(1, "publish", 1, size=10),
            of(1, "disconnect", 5, outcome="link lost", latency_us=5_000_000),
            of(2, "connect", 7),
            of(2, "disconnect", 8, latency_us=1_000_000),
            of(3, "connect", 500),
            of(4, "connect", 501, principal="ann"),
        ],
    )
    columns = ("session", "who", "since", "until", "seconds", "reason", "is_reconnection", "sent")
    assert told(sessions(rows), *columns) == [
        (1, "10.0.0.1", at(0), at(5), 5.0, "link lost", False, 1),
        (2, "10.0.0.1", at(7), at(8), 1.0, None, True, 0),
        (3, "10.0.0.1", at(500), None, None, None, False, 0),
        (4, "ann", at(501), None, None, None, False, 0),
    ]


def test_compacting_keeps_each_row_once(spark: Any, sample: Path, tmp_path: Path) -> None:
    """In parts by day and protocol, also when a run is done again."""
    rows = spark.read.format("fmqbus").option("includeMetadata", "true").load(str(sample))
    twice = rows.unionByName(rows.where("offset < 100"))
    table = str(tmp_path / "table")
    compact(twice).write.partitionBy("date", "protocol").parquet(table)
    assert spark.read.parquet(table).selectExpr("count(*)", "count(DISTINCT offset)").collect()[0] == (ROWS, ROWS)
    assert (tmp_path / "table" / "date=2026-01-01" / "protocol=fmqp").is_dir()


def test_messages_are_due_as_they_came(spark: Any) -> None:
    """At a pace, and below other topics; what was not journaled cannot be said again."""
    rows = frame(
        spark,
        [
            {"kind": "publish", "topic": "a", "value": b"1", "at": 10},
            {"kind": "deliver", "topic": "q", "at": 11},
            {"kind": "enqueue", "topic": "q", "value": b"2", "at": 14},
            {"kind": "publish", "topic": "a", "size": 3, "at": 15},
        ],
    )
    assert told(replay(rows, 2.0, "again/"), "due", "kind", "topic", "value") == [
        (0.0, "publish", "again/a", b"1"),
        (2.0, "enqueue", "again/q", b"2"),
    ]
    assert told(replay(rows, None), "due", "topic") == [(0.0, "a"), (0.0, "q")]


def test_exports_have_text_where_it_is_text(spark: Any) -> None:
    """And say by the column's name where it is not."""
    rows = frame(
        spark,
        [
            {"kind": "publish", "topic": "a", "value": "é".encode(), "properties": {"k": "v"}},
            {"kind": "publish", "topic": "a", "value": b"\xff\x00"},
            {"kind": "connect"},
        ],
    )
    found = told(export(rows), "offset", "payload", "payload_base64", "properties")
    assert [row[:3] for row in found] == [(0, "é", None), (1, None, "/wA="), (2, None, None)]
    assert json.loads(found[0][3]) == {"k": "v"}
