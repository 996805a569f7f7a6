"""What became of messages of queues and of jobs, and who was slow."""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.pipeline.jobs.delivery import audit, delivery
from fmqbus.pipeline.jobs.jobs import jobs
from fmqbus.pipeline.jobs.slow import slow
from tests.pipeline.jobs.frames import at, frame, told

pytestmark = pytest.mark.spark


def of(kind: str, number: int, seconds: float, **more: Any) -> dict[str, Any]:
    """Something that happens to a message of queue ``q``."""
    return {"kind": kind, "topic": "q", "message_id": number, "at": seconds, **more}


def test_every_message_has_one_fate(spark: Any) -> None:
    """Whatever happened to it on the way."""
    rows = frame(
        spark,
        [
            *[of("enqueue", number, 0) for number in range(1, 11)],
            *[of("deliver", number, 1) for number in (1, 2, 3, 5, 6, 8, 9)],
            of("settle", 1, 2),
            *[of("release", 2, 2), of("redeliver", 2, 3), of("settle", 2, 4)],
            *[of("reject", 3, 2), of("give-up", 3, 2, outcome="rejected")],
            of("expire", 4, 2, outcome="expired"),
            *[of("settle", 5, 2), of("redeliver", 5, 3), of("settle", 5, 4)],
            of("give-up", 6, 2, outcome="deliveries"),
            of("give-up", 7, 2, outcome="purged"),
            *[of("enqueue", 11, 990), of("deliver", 9, 995), of("deliver", 11, 1000)],
        ],
    )
    assert told(audit(rows), "message_id", "fate", "redelivered") == [
        (1, "accepted", 0),
        (2, "accepted", 1),
        (3, "rejected", 0),
        (4, "expired", 0),
        (5, "duplicated", 1),
        (6, "given-up", 0),
        (7, "removed", 0),
        (8, "stuck", 0),
        (9, "held", 0),
        (10, "stuck", 0),
        (11, "held", 0),
    ]
    assert told(delivery(rows), "queue", "fate", "messages", "redelivered", "for_instance")[:2] == [
        ("q", "accepted", 2, 1, 1),
        ("q", "duplicated", 1, 1, 5),
    ]


def test_a_message_that_others_passed_after_a_restart_is_lost(spark: Any) -> None:
    """One that was put in last may still wait."""
    again = {"boot": at(50)}
    rows = frame(
        spark,
        [
            of("enqueue", 1, 0),
            of("enqueue", 2, 1),
            of("enqueue", 3, 2),
            of("deliver", 2, 60, **again),
            of("settle", 2, 61, **again),
        ],
    )
    assert told(audit(rows), "message_id", "fate") == [(1, "lost"), (2, "accepted"), (3, "waiting")]


def test_numbers_that_begin_anew_are_other_messages(spark: Any) -> None:
    """A queue in memory has none left after a restart, and counts from one again."""
    rows = frame(
        spark,
        [
            *[of("enqueue", 1, 0), of("deliver", 1, 1), of("settle", 1, 2)],
            of("enqueue", 1, 60, boot=at(50)),
        ],
    )
    assert told(audit(rows), "enqueued_at", "fate") == [(at(0), "accepted"), (at(60), "waiting")]


def job(path: str, name: str) -> bytes:
    """A payload as EventMQ's clients write it."""
    return b'["run", {"path": "%s", "callable": "%s", "args": [], "kwargs": {}}]' % (path.encode(), name.encode())


def test_jobs_are_told_by_queue_and_callable(spark: Any) -> None:
    """Waiting from when it was put there, running as its worker had it; what is no job is not counted."""
    rows = frame(
        spark,
        [
            of("enqueue", 1, 0, value=job("shop", "bill")),
            of("enqueue", 2, 0, value=job("shop", "bill")),
            of("enqueue", 3, 0, value=job("shop:Mail", "send")),
            of("enqueue", 4, 0, value=b"no job"),
            of("deliver", 1, 2),
            of("settle", 1, 5, latency_us=3_000_000),
            *[of("deliver", 2, 4), of("release", 2, 5), of("redeliver", 2, 6), of("reject", 2, 7)],
        ],
    )
    columns = ("callable", "jobs", "done", "failed", "open", "retries", "wait_max_ms", "run_max_ms")
    assert told(jobs(rows), *columns) == [
        ("shop:Mail.send", 1, 0, 0, 1, 0, None, None),
        ("shop:bill", 2, 1, 1, 0, 1, 4000.0, 3000.0),
    ]


def test_jobs_without_payloads_are_told_by_queue(spark: Any) -> None:
    """Who keeps none still wants to know how long they waited."""
    rows = frame(spark, [of("enqueue", 1, 0, size=70), of("deliver", 1, 2)])
    assert told(jobs(rows), "queue", "callable", "jobs", "wait_max_ms") == [("q", None, 1, 2000.0)]


def test_slow_clients_are_told_with_what_they_held(spark: Any) -> None:
    """Drops with their reasons; the longest time in which something was in hand and nothing settled."""
    client = {"session": 7, "client": "10.0.0.1:4000", "protocol": "umq"}
    rows = frame(
        spark,
        [
            of("deliver", 1, 0, **client),
            of("deliver", 2, 1, **client),
            of("settle", 1, 3, latency_us=3_000_000, **client),
            of("settle", 2, 10, latency_us=9_000_000, **client),
            of("deliver", 3, 100, **client),
            of("settle", 3, 101, latency_us=1_000_000, **client),
            {"kind": "drop", "topic": "t", "size": 8, "outcome": "outbox-full", "at": 102, **client},
            {"kind": "drop", "topic": "t", "size": 8, "outcome": "too-old", "at": 103, **client},
        ],
    )
    columns = ("topic", "drops", "dropped_bytes", "reasons", "settled", "most_in_hand", "longest_stall_ms")
    assert told(slow(rows), *columns) == [
        ("q", 0, 0, "", 3, 2, 7000.0),
        ("t", 2, 16, "outbox-full, too-old", 0, 0, None),
    ]
