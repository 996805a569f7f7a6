"""The data source without Spark: its readers are plain classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import Filter
from pyspark.sql.types import StructField, StructType

from fmqbus.pipeline.batch import FilteringReader, FMQBusReader
from fmqbus.pipeline.columns import COLUMNS
from fmqbus.pipeline.source import FMQBusSource
from fmqbus.pipeline.stream import FMQBusStreamReader


def source(path: Path, **options: Any) -> FMQBusSource:
    """The source for a journal in a folder."""
    return FMQBusSource({"path": str(path), **{name: str(value) for name, value in options.items()}})


def schema(*columns: str) -> StructType:
    """The schema of a user who wants these columns."""
    return StructType([StructField(name, COLUMNS[name].type) for name in columns])


def reader(path: Path, *columns: str, **options: Any) -> FMQBusReader:
    """A reader of these columns, or of all."""
    asked = source(path, **options)
    return asked.reader(schema(*columns) if columns else asked.schema())


def stream(path: Path, *columns: str, **options: Any) -> FMQBusStreamReader:
    """The same for streams."""
    asked = source(path, **options)
    return asked.streamReader(schema(*columns) if columns else asked.schema())


def read(path: Path, *columns: str, filters: list[Filter] | None = None, **options: Any) -> pa.Table:
    """What a DataFrame would have."""
    made = reader(path, *columns, **options, pushDownFilters=filters is not None)
    if filters:
        assert isinstance(made, FilteringReader)
        assert not list(made.pushFilters(filters)), "a filter was left to Spark"
    batches = [batch for task in made.partitions() for batch in made.read(task)]
    names = list(columns) or source(path, **options).schema().fieldNames()
    return pa.Table.from_batches(batches) if batches else pa.table({name: [] for name in names})


def offsets(table: pa.Table) -> list[int]:
    """The offsets in it, in order."""
    return sorted(table.column("offset").to_pylist())


def read_from(**options: Any) -> pa.Table:
    """What a DataFrame of all columns would have, of the journal that the options name."""
    asked = FMQBusSource({name: str(value) for name, value in options.items()})
    made = asked.reader(asked.schema())
    batches = [batch for task in made.partitions() for batch in made.read(task)]
    return pa.Table.from_batches(batches).combine_chunks()


def stream_from(*columns: str, **options: Any) -> FMQBusStreamReader:
    """A stream of the journal that the options name."""
    asked = FMQBusSource({name: str(value) for name, value in options.items()})
    return asked.streamReader(schema(*columns) if columns else asked.schema())
