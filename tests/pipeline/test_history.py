"""What Spark reads of sealed tables by itself is what the source would have given."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.sealing import SealSettings, seal
from fmqbus.pipeline.columns import COLUMNS
from fmqbus.pipeline.history import history
from tests.pipeline.conftest import ROWS
from tests.pipeline.reading import read

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sealed(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample with two segments in one table each, and the last one open."""
    root = tmp_path_factory.mktemp("sealed") / "journal"
    shutil.copytree(sample, root)
    seal(root, SealSettings(wait_seconds=0.0, table_octets=1), time.time())
    return root


def ask(spark: Any, root: Path, *columns: str, **options: str) -> Any:
    """Rows of a journal, all that it has."""
    return history(spark, {"path": str(root), "includeMetadata": "true", **options}, columns or list(COLUMNS))


def is_native(frame: Any) -> Mapping[str, bool]:
    """Whether Spark's own reader takes part, and whether ours does."""
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return {"spark": "FileScan parquet" in plan, "source": "BatchScan fmqbus" in plan}


def test_tables_and_log_give_every_row_once(spark: Any, sealed: Path) -> None:
    """With all columns, in the source's own types."""
    frame = ask(spark, sealed)
    assert is_native(frame) == {"spark": True, "source": True}
    expected = read(sealed, includeMetadata=True, includeHeaders=True)
    rows = frame.orderBy("offset").toArrow()
    assert rows.num_rows == ROWS
    for name in expected.column_names:
        assert rows[name].to_pylist() == expected[name].to_pylist(), name
    source = spark.read.format("fmqbus").options(path=str(sealed), includeMetadata=True, includeHeaders=True).load()
    assert {field.name: field.dataType for field in frame.schema} == {
        field.name: field.dataType for field in source.schema
    }


def test_what_is_sealed_needs_no_python(spark: Any, sealed: Path) -> None:
    """Where no row of the log is asked for."""
    first = JournalFolder(sealed).tables()[0]
    frame = ask(spark, sealed, "offset", startingOffsets='{"0": 10}', endingOffsets=f'{{"0": {first.end}}}')
    assert is_native(frame) == {"spark": True, "source": False}
    assert [row.offset for row in frame.orderBy("offset").collect()] == list(range(10, first.end))


def test_ranges_may_begin_in_a_table_and_end_in_the_log(spark: Any, sealed: Path) -> None:
    """Each offset once."""
    first, end = 700, ROWS - 17
    frame = ask(spark, sealed, "offset", startingOffsets=f'{{"0": {first}}}', endingOffsets=f'{{"0": {end}}}')
    assert [row.offset for row in frame.orderBy("offset").collect()] == list(range(first, end))


@pytest.mark.parametrize("topics", ["jobs", "plant/*/sensor/3", "jobs,nothing"])
def test_topics_are_chosen_as_by_the_source(spark: Any, sealed: Path, topics: str) -> None:
    """By Spark where names are plain; wildcards are the bus's own."""
    frame = ask(spark, sealed, "offset", subscribe=topics)
    assert is_native(frame)["spark"] is ("*" not in topics)
    expected = read(sealed, "offset", includeMetadata=True, subscribe=topics)
    assert sorted(row.offset for row in frame.collect()) == sorted(expected["offset"].to_pylist())


def test_rows_that_are_missing_end_the_query(spark: Any, sealed: Path, tmp_path: Path) -> None:
    """Whoever would have read them: a table that is gone, and one that was never there."""
    root = tmp_path / "journal"
    shutil.copytree(sealed, root)
    with pytest.raises(PySparkException, match="rows are lost"):
        ask(spark, root, "offset", endingOffsets=f'{{"0": {ROWS + 5}}}').collect()
    second = JournalFolder(root).tables()[1]
    (root / second.file).unlink()
    with pytest.raises(PySparkException, match="PATH_NOT_FOUND"):
        ask(spark, root, "offset").collect()


def test_a_flipped_bit_in_a_table_is_an_error(spark: Any, sealed: Path, tmp_path: Path) -> None:
    """For Spark as for the source."""
    root = tmp_path / "journal"
    shutil.copytree(sealed, root)
    table = root / JournalFolder(root).tables()[0].file
    octets = bytearray(table.read_bytes())
    # within the payloads, which are most of it
    octets[len(octets) // 3] ^= 1
    table.write_bytes(octets)
    with pytest.raises(Exception, match="CRC checksum verification failed"):
        ask(spark, root).collect()
