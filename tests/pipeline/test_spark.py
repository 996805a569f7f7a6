"""The data source in Spark itself, and what only Spark shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from fmqbus.journal.samples import write_sample
from tests.pipeline.conftest import ROWS
from tests.pipeline.reading import offsets, read

pytestmark = pytest.mark.spark

#: Within the sample's time.
_MOMENT = "2026-01-01 00:00:00.2"


def load(spark: Any, path: Path, **options: Any) -> Any:
    """A DataFrame of a journal."""
    return spark.read.format("fmqbus").options(path=str(path), **options).load()


def test_a_dataframe_has_every_row(spark: Any, sample: Path) -> None:
    """With all columns, in Arrow's form, as the reader alone gives them."""
    frame = load(spark, sample, includeHeaders=True, includeMetadata=True)
    rows = frame.orderBy("offset").toArrow()
    assert rows.num_rows == ROWS
    expected = read(sample, includeHeaders=True, includeMetadata=True)
    for name in ("offset", "topic", "value", "kind", "timestamp", "latency_us", "headers"):
        assert rows[name].to_pylist() == expected[name].to_pylist()


def test_spark_hands_filters_over(spark: Any, sample: Path) -> None:
    """Where it may; the rows are those that it would have found."""
    frame = load(spark, sample, includeMetadata=True, pushDownFilters=True)
    wanted = frame.where(
        (F.col("offset") >= 100) & F.col("kind").isin("settle", "deliver") & (F.col("timestamp") < _MOMENT)
    )
    journal = read(sample, includeMetadata=True)  # noqa: F841  DuckDB reads it by its name
    duckdb.sql("SET TimeZone = 'UTC'")
    oracle = duckdb.sql(
        "SELECT \"offset\" FROM journal WHERE \"offset\" >= 100 AND kind IN ('settle', 'deliver') "
        f"AND timestamp < TIMESTAMPTZ '{_MOMENT}+00' ORDER BY 1"
    )
    found = offsets(wanted.toArrow())
    assert found == [row[0] for row in oracle.fetchall()]
    assert 0 < len(found) < ROWS


def test_a_dataframe_can_be_asked_again(spark: Any, sample: Path) -> None:
    """Filters of one query are not those of another, nor those of one side of a union those of the other."""
    frame = load(spark, sample, includeMetadata=True)
    some = frame.where("offset < 100")
    assert some.count() == 100
    assert frame.count() == ROWS
    assert frame.union(some).count() == ROWS + 100
    assert some.union(frame.where("offset >= 2990")).count() == 110


def test_nothing_to_read_is_no_error(spark: Any, sample: Path) -> None:
    """It is an empty DataFrame."""
    assert load(spark, sample, startingTimestamp="2030-01-01").count() == 0
    assert load(spark, sample, endingOffsets="earliest").toArrow().num_rows == 0


def test_a_schema_names_the_columns_that_are_read(spark: Any, sample: Path) -> None:
    """Others do not even cross to Spark."""
    frame = spark.read.format("fmqbus").schema("topic string, size int").load(str(sample))
    assert frame.columns == ["topic", "size"]
    assert frame.count() == read(sample).num_rows


def test_mistakes_reach_the_user(spark: Any, sample: Path) -> None:
    """The sentence is in the error, however much of Java is around it."""
    with pytest.raises(PySparkException, match="startingOffsets is"):
        load(spark, sample, startingOffsets="soon").count()
    with pytest.raises(PySparkException, match="rows are lost"):
        load(spark, sample, startingOffsets='{"0": 100000}').count()


def test_a_stream_goes_on_where_it_stopped(spark: Any, tmp_path: Path) -> None:
    """Every row once over two runs, and what was written between them with it; the position is kept."""
    journal, table, checkpoint = tmp_path / "journal", str(tmp_path / "table"), str(tmp_path / "checkpoint")
    write_sample(journal, 2_000, segment_rows=500, run=10, frame_rows=100)

    def run() -> None:
        rows = (
            spark.readStream.format("fmqbus")
            .options(
                path=str(journal),
                startingOffsets="earliest",
                maxOffsetsPerTrigger=700,
                includeMetadata=True,
                readerName="table",
            )
            .load()
        )
        query = (
            rows.select("partition", "offset")
            .writeStream.format("parquet")
            .option("path", table)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run()
    assert spark.read.parquet(table).count() == 2_000
    write_sample(journal, 500, shard=1)
    run()
    found = spark.read.parquet(table).groupBy("partition").agg(F.count("*"), F.countDistinct("offset")).collect()
    assert sorted(map(tuple, found)) == [(0, 2_000, 2_000), (1, 500, 500)]
    assert (journal / "readers" / "table.json").exists()
