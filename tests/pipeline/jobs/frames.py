"""Small frames of what happened, written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fmqbus.pipeline.columns import schema_for
from fmqbus.pipeline.options import read_options

#: When all these stories begin.
BEGIN = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
SCHEMA = schema_for(read_options({"path": "/", "includeMetadata": "true"}))


def at(seconds: float) -> datetime:
    """A time of the story."""
    return BEGIN + timedelta(seconds=seconds)


def frame(spark: Any, events: Sequence[Mapping[str, Any]]) -> Any:
    """A DataFrame with a row for each event; ``at`` is in seconds of the story, offsets count up if they are not said.

    A payload gives the size too.
    """
    rows = []
    for number, event in enumerate(events):
        row = {"partition": 0, "offset": number, "timestampType": 1, "boot": BEGIN, **event}
        row["timestamp"] = at(row.pop("at", number))
        if row.get("value") is not None:
            row.setdefault("size", len(row["value"]))
        assert set(row) <= set(SCHEMA.fieldNames()), f"no such columns in {row}"
        rows.append(tuple(row.get(name) for name in SCHEMA.fieldNames()))
    return spark.createDataFrame(rows, SCHEMA)


def told(frame: Any, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a result, these columns, sorted by the first ones; times are as Python has them, in UTC."""
    table = frame.select(*columns).toArrow()
    rows = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    return sorted(rows, key=lambda row: tuple((value is None, value) for value in row))
