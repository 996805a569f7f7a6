"""How soon does Spark have what a client has sent? From a real broker's journal, at a pace, at the fastest trigger.

A client publishes portions of ten milliseconds, each payload with the time when it was sent. The query hands each batch
to Python, and the time is taken when it is there.
"""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from fmqbus.protocols.fmqp.codec import encode
from tests import measured
from tests.live.broker import Broker

RATE = 20_000
_PORTION_SECONDS = 0.01
_TOPICS, _PAYLOAD = 5, 128
_WARM_SECONDS = 30.0
_GOAL_MS = 500


@attrs.frozen
class Latency:
    """What came of it, in milliseconds from sending to the query's having it."""

    sent: int
    seconds: float
    rows: int
    batches: int
    quantiles: tuple[float, float, float, float]


def measure(seconds: float) -> list[Latency]:
    """Warm up, then follow for so long."""
    with tempfile.TemporaryDirectory() as folder:
        journal, config = Path(folder, "journal"), Path(folder, "bus.toml")
        config.write_text(f'listen = ["fmqp:tcp:0:interface=127.0.0.1"]\n[journal]\npath = "{journal}"\n')
        with Broker("--config", str(config)) as broker:
            latency = _follow(journal, broker, Path(folder, "checkpoint"), seconds)
            assert broker.stop() == 0
    return [latency]


def _follow(journal: Path, broker: Broker, checkpoint: Path, seconds: float) -> Latency:
    from fmqbus.pipeline.session import new_session

    # as docs/pipeline/spark.md says for a short delay
    spark = new_session("live", conf={"spark.sql.adaptive.enabled": "false"})
    came: list[npt.NDArray[np.int64]] = []
    measuring = threading.Event()

    def take(batch: Any, number: int) -> None:
        sent = batch.toArrow().column("sent").to_numpy()
        if measuring.is_set() and len(sent):
            came.append(time.time_ns() - sent)

    rows = spark.readStream.format("fmqbus").option("startingOffsets", "latest").load(str(journal))
    sent = rows.selectExpr("CAST(substring(CAST(value AS string), 1, 19) AS bigint) AS sent")
    writer = sent.writeStream.option("checkpointLocation", str(checkpoint)).trigger(processingTime="0 seconds")
    query = writer.foreachBatch(take).start()
    is_over = threading.Event()
    pacing = threading.Thread(target=_publish, args=(broker.connect(), is_over))
    pacing.start()
    try:
        query.awaitTermination(_WARM_SECONDS)
        measuring.set()
        begun = time.monotonic()
        query.awaitTermination(seconds)
        measuring.clear()
        lasted = time.monotonic() - begun
    finally:
        is_over.set()
        pacing.join()
        query.stop()
        spark.stop()
    milliseconds = np.concatenate(came) / 1e6
    found = tuple(float(value) for value in np.quantile(milliseconds, (0.5, 0.95, 0.99, 1.0)))
    return Latency(round(RATE * lasted), lasted, len(milliseconds), len(came), found)  # type: ignore[arg-type]


def _publish(connection: socket.socket, is_over: threading.Event) -> None:
    """So many a second, in runs."""
    count = round(RATE * _PORTION_SECONDS / _TOPICS)
    due = time.monotonic()
    with connection:
        while not is_over.is_set():
            payload = b"%d" % time.time_ns()
            portion = [encode(0, b"live/%d" % topic, payload.ljust(_PAYLOAD, b".")) * count for topic in range(_TOPICS)]
            connection.sendall(b"".join(portion))
            due += _PORTION_SECONDS
            time.sleep(max(due - time.monotonic(), 0.0))


def table(found: Sequence[Latency]) -> str:
    """In Markdown."""
    lines = []
    for each in found:
        p50, p95, p99, longest = each.quantiles
        goal = f"p95 below {_GOAL_MS} ms: {'reached' if p95 < _GOAL_MS else '**missed**'}"
        lines.append(
            (
                f"{each.rows / each.seconds:,.0f}/s",
                f"{each.batches / each.seconds:.1f}/s",
                *(f"{value:,.0f} ms" for value in (p50, p95, p99, longest)),
                goal,
            )
        )
    head = ("rows that came", "batches", "median", "p95", "p99", "longest", "goal")
    return measured.table(head, ("--:",) * 6 + ("---",), lines)
