"""The rows of a journal for one batch query, as fast as they can be had: Spark reads sealed tables by itself.

Our source hands rows over from processes of Python, which costs more than to read them. A sealed table is Parquet, so
Spark needs no such process for it. What is not sealed yet comes through the source, which also tells of what is
missing. Both parts end where the journal ended when this was called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from fmqbus import names
from fmqbus.journal.journal_schema import SCHEMA, narrowed
from fmqbus.pipeline import FORMAT
from fmqbus.pipeline.access import journal_of
from fmqbus.pipeline.batch import wanted_of
from fmqbus.pipeline.columns import COLUMNS, KEY_PROPERTY, LOG_APPEND_TIME
from fmqbus.pipeline.jobs.rows import schema_of
from fmqbus.pipeline.local import LocalJournal
from fmqbus.pipeline.options import Options, read_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: A flipped bit is an error here too.
_PARQUET = {"parquet.page.verify-checksum.enabled": "true"}
#: What would make a pattern of a path.
_OF_PATTERNS = frozenset("*?[]{}\\")
#: Options that say where to begin and to end.
_PLACES = frozenset(("startingoffsets", "endingoffsets", "startingtimestamp", "endingtimestamp"))

#: The columns of the source that are not the journal's own under another name.
_MADE: Mapping[str, Callable[[], Column]] = {
    "key": lambda: F.col("properties")[KEY_PROPERTY].cast("binary"),
    "timestampType": lambda: F.lit(LOG_APPEND_TIME),
    "headers": lambda: F.transform(
        F.map_entries("properties"),
        lambda pair: F.struct(pair["key"].alias("key"), pair["value"].cast("binary").alias("value")),
    ),
}


def history(spark: SparkSession, options: Mapping[str, str], columns: Sequence[str]) -> DataFrame:
    """The rows that ``spark.read.format("fmqbus")`` has with these options and columns, in any order.

    Raises `WrongOption`. What is missing ends the query that asks for it, as with the source.
    """
    asked = read_options(options)
    plan = _plan(asked) if _fits_tables(asked) else _Plan()
    if not plan.files:
        return _by_source(spark, options, columns)
    tables = _by_spark(spark, plan, asked, columns)
    if plan.starts == plan.ends:
        return tables
    rest = {name: value for name, value in options.items() if name.lower() not in _PLACES}
    rest |= {"startingOffsets": json.dumps(plan.starts), "endingOffsets": json.dumps(plan.ends)}
    return tables.unionByName(_by_source(spark, rest, columns))


@attrs.define
class _Plan:
    """Who reads what: Spark these tables, and the source what follows, by shard."""

    files: list[str] = attrs.field(factory=list)
    #: Shard, first and last offset, where not all rows of these tables are wanted.
    bounds: list[tuple[int, int, int]] = attrs.field(factory=list)
    is_cut: bool = False
    starts: dict[int, int] = attrs.field(factory=dict)
    ends: dict[int, int] = attrs.field(factory=dict)


def _fits_tables(asked: Options) -> bool:
    """Whether Spark would choose the same rows: it knows neither our wildcards nor Python's patterns, nor how to tell
    of a gap, and fails where a file is damaged."""
    topics = asked.topics or ()
    return (
        asked.path is not None
        and asked.has_metadata
        and asked.fails_on_data_loss
        and asked.pattern is None
        and not any(names.is_wild(topic.encode()) for topic in topics)
        and not _OF_PATTERNS.intersection(asked.path)
    )


def _plan(asked: Options) -> _Plan:
    """From each shard's first row on, tables as far as they follow each other."""
    journal, plan = journal_of(asked), _Plan()
    assert isinstance(journal, LocalJournal), "it is in a folder"
    for wanted in wanted_of(journal, asked):
        at = wanted.first
        for piece in journal.pieces(wanted.shard, wanted.first, wanted.end):
            if not piece.is_table or not piece.first <= at < min(piece.end, wanted.end):
                break
            plan.files.append(str(piece.path))
            plan.is_cut |= piece.first < at or piece.end > wanted.end
            at = min(piece.end, wanted.end)
        if at > wanted.first:
            plan.bounds.append((wanted.shard, wanted.first, at))
        plan.starts[wanted.shard], plan.ends[wanted.shard] = at, wanted.end
    return plan


def _by_spark(spark: SparkSession, plan: _Plan, asked: Options, columns: Sequence[str]) -> DataFrame:
    needs = {name for column in columns for name in COLUMNS[column].needs} | {"topic", "shard", "offset"}
    schema = from_arrow_schema(narrowed([name for name in SCHEMA.names if name in needs]), prefer_timestamp_ntz=False)
    rows = spark.read.options(**_PARQUET).schema(schema).parquet(*plan.files)
    if plan.is_cut:
        of_shards = [
            (F.col("shard") == shard) & (F.col("offset") >= first) & (F.col("offset") < end)
            for shard, first, end in plan.bounds
        ]
        is_wanted = of_shards[0]
        for other in of_shards[1:]:
            is_wanted |= other
        rows = rows.where(is_wanted)
    if asked.topics is not None:
        rows = rows.where(F.col("topic").isin(*asked.topics))
    return rows.select(*(_column(name).alias(name) for name in columns))


def _column(name: str) -> Column:
    return _MADE[name]() if name in _MADE else F.col(*COLUMNS[name].needs)


def _by_source(spark: SparkSession, options: Mapping[str, str], columns: Sequence[str]) -> DataFrame:
    return spark.read.format(FORMAT).schema(schema_of(columns)).options(**options).load()
