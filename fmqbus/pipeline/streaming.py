"""How does a job run as a stream: what does each batch do, how is its progress told, and how does it end?

A batch that is done again, after a failure, writes the same files again: each has a folder of its own, by its number.
SIGTERM and SIGINT let the batch that runs come to its end; the checkpoint then says where the next run goes on.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from fmqbus.pipeline.telling import show, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

#: How often a query is looked at.
_LOOK_SECONDS = 0.5
#: A batch that takes longer after SIGTERM is broken off; the next run does it again, whole.
_LAST_BATCH_SECONDS = 60.0


def start(
    frame: DataFrame, name: str, mode: str, checkpoint: str, trigger: Mapping[str, Any], out: str | None, form: str
) -> StreamingQuery:
    """Start a query whose batches are printed, or written below `out` as ``batch=NUMBER``."""

    def tell(batch: DataFrame, number: int) -> None:
        if out is None:
            show(batch, f"{name}, batch {number}", most=40)
        else:
            write(batch, os.path.join(out, f"batch={number}"), form, "overwrite")

    writer = frame.writeStream.queryName(name).outputMode(mode).option("checkpointLocation", checkpoint)
    return writer.trigger(**trigger).foreachBatch(tell).start()


def follow(query: StreamingQuery, console: Console) -> None:
    """Wait for the end of a query, which SIGTERM and SIGINT bring about. Raises what it failed with."""
    with _signals() as asked_to_end, console.status("waiting for the first batch") as status:
        while query.isActive and not asked_to_end:
            _look(query)
            status.update(progress_line(query.lastProgress))
        if query.isActive:
            status.update("ending with this batch")
            _end(query)
    failure = query.exception()
    if failure is not None:
        raise failure


def progress_line(progress: Any) -> str:
    """What the last batch was, in one line."""
    if not progress:
        return "waiting for the first batch"
    told: dict[str, Any] = progress if isinstance(progress, dict) else progress.jsonValue
    late = sum(int(state.get("numRowsDroppedByWatermark", 0)) for state in told.get("stateOperators", []))
    line = (
        f"batch {told['batchId']}: {told.get('numInputRows', 0):,} rows, "
        f"{told.get('processedRowsPerSecond') or 0:,.0f} a second"
    )
    return line + (f", {late:,} came too late" if late else "")


def trigger_of(text: str) -> Mapping[str, Any]:
    """``available-now``, or an interval as Spark writes them; raises `click.BadParameter`."""
    if text == "available-now":
        return {"availableNow": True}
    count, _, unit = text.partition(" ")
    if not count.isdecimal() or unit.rstrip("s") not in ("second", "minute", "hour", "millisecond"):
        raise click.BadParameter(f"{text!r} is neither available-now nor an interval such as '10 seconds'")
    return {"processingTime": text}


def _look(query: StreamingQuery) -> None:
    from pyspark.errors import StreamingQueryException

    # `follow` raises it
    with suppress(StreamingQueryException):
        query.awaitTermination(_LOOK_SECONDS)


def _end(query: StreamingQuery) -> None:
    waited = 0.0
    while query.isActive and query.status["isTriggerActive"] and waited < _LAST_BATCH_SECONDS:
        _look(query)
        waited += _LOOK_SECONDS
    query.stop()


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The signals that have come and ask for the end."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
