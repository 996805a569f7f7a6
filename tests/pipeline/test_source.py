"""The data source reads what is in a journal, all of it, and nothing else; without Spark."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringContains,
    StringStartsWith,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.samples import START, write_sample
from fmqbus.pipeline.batch import FilteringReader
from fmqbus.pipeline.local import LocalJournal
from fmqbus.pipeline.options import WrongOption
from fmqbus.pipeline.reading import DataLost
from tests.pipeline.conftest import ROWS
from tests.pipeline.reading import offsets, read, reader, source


@pytest.fixture(scope="session")
def journal(sample: Path) -> pa.Table:
    """The sample as the journal's own reader has it."""
    return pa.Table.from_batches(list(JournalFolder(sample).read(0, 0, ROWS)))


def messages(journal: pa.Table) -> pa.Table:
    """The rows of it that are messages."""
    return journal.filter(pc.is_in(journal["kind"], pa.array(["publish", "enqueue"])))


def test_columns_are_those_of_kafka(sample: Path) -> None:
    """And headers where they are asked for."""
    kafka = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    assert source(sample).schema().fieldNames() == kafka
    assert source(sample, includeHeaders=True).schema().fieldNames() == [*kafka, "headers"]
    assert "latency_us" in source(sample, includeMetadata=True).schema().fieldNames()


def test_batches_have_exactly_the_types_that_spark_wants(sample: Path) -> None:
    """It looks at the first one alone, and falls over a later one."""
    asked = source(sample, includeHeaders=True, includeMetadata=True)
    made = reader(sample, includeHeaders=True, includeMetadata=True)
    wanted = to_arrow_schema(asked.schema(), timezone="UTC")
    batches = [batch for task in made.partitions() for batch in made.read(task)]
    assert batches
    assert all(batch.schema.equals(wanted) for batch in batches)
    for batch in batches:
        batch.validate(full=True)


def test_messages_are_read_as_they_came(sample: Path, journal: pa.Table) -> None:
    """Every publication, and what was put into queues."""
    table, expected = read(sample), messages(journal)
    assert table["offset"].to_pylist() == expected["offset"].to_pylist()
    assert table["value"].to_pylist() == expected["payload"].to_pylist()
    assert table["topic"].to_pylist() == expected["topic"].to_pylist()
    assert table["timestamp"].to_pylist() == expected["time"].to_pylist()
    assert set(table["partition"].to_pylist()) == {0}
    assert set(table["timestampType"].to_pylist()) == {1}


def test_with_metadata_everything_is_read(sample: Path, journal: pa.Table) -> None:
    """Each row of the journal is one of the source."""
    table = read(sample, includeMetadata=True)
    assert table["offset"].to_pylist() == list(range(ROWS))
    for name in ("kind", "protocol", "client", "size", "message_id", "latency_us", "properties"):
        assert table[name].to_pylist() == journal[name].to_pylist()


def test_properties_are_headers(sample: Path) -> None:
    """Their values are octets there; who has none has no headers."""
    table = read(sample, "topic", "headers", "properties")
    properties = table["properties"].to_pylist()
    assert any(properties)
    assert table["headers"].to_pylist() == [
        None if row is None else [{"key": key, "value": value.encode()} for key, value in row] for row in properties
    ]


def test_the_key_is_a_property(tmp_path: Path) -> None:
    """Who wants one sets it."""
    from fmqbus.pipeline.columns import Selection
    from tests.pipeline.reading import schema

    properties = pa.array(
        [[("key", "k1"), ("a", "b")], None, [("a", "b")], [("key", "k2")]], pa.map_(pa.string(), pa.string())
    )
    batch = pa.record_batch({"properties": properties}).slice(1)
    assert Selection.of(schema("key")).rows(batch).column("key").to_pylist() == [None, None, b"k2"]
    headers = Selection.of(schema("headers")).rows(batch).column("headers").to_pylist()
    assert headers == [None, [{"key": "a", "value": b"b"}], [{"key": "key", "value": b"k2"}]]


def test_a_column_that_there_is_not_is_named(sample: Path) -> None:
    """Before anything is read; so is one of another type."""
    with pytest.raises(WrongOption, match="there is no column colour"):
        source(sample).reader(StructType([StructField("colour", StringType())]))
    with pytest.raises(WrongOption, match="column value is binary, not string"):
        source(sample).reader(StructType([StructField("value", StringType())]))


def test_topics_are_chosen_by_name_wildcard_and_expression(sample: Path, journal: pa.Table) -> None:
    """Wildcards are those of the bus."""
    rows = messages(journal)
    names = rows["topic"].to_pylist()
    some = names[0]
    assert set(read(sample, "topic", subscribe=f"{some}, jobs")["topic"].to_pylist()) == {some, "jobs"}
    assert read(sample, subscribe="plant/3/sensor/*").num_rows == sum(n.startswith("plant/3/") for n in names)
    assert read(sample, subscribePattern="plant/.*").num_rows == sum(n.startswith("plant/") for n in names)
    assert read(sample, subscribePattern="plant").num_rows == 0


def test_offsets_and_times_bound_what_is_read(sample: Path, journal: pa.Table) -> None:
    """The end is not included."""
    everything = {"includeMetadata": True}
    bounded = read(sample, **everything, startingOffsets='{"0": 950}', endingOffsets='{"0": 2100}')
    assert offsets(bounded) == list(range(950, 2100))
    time = START // 1000 + 60
    later = read(sample, **everything, startingTimestamp=time)
    sooner = read(sample, **everything, endingTimestamp=time)
    assert offsets(sooner) + offsets(later) == list(range(ROWS))
    assert 0 < sooner.num_rows < ROWS


def test_reading_in_more_tasks_reads_the_same(sample: Path) -> None:
    """As many as there are files, or as are asked for."""
    few, many = reader(sample, "offset"), reader(sample, "offset", minPartitions=16)
    assert len(few.partitions()) == 3
    assert len(many.partitions()) >= 16
    assert offsets(read(sample, minPartitions=16)) == offsets(read(sample))
    assert reader(sample, minPartitions=16).partitions()[0].rows == many.partitions()[0].rows


def test_filters_are_decided_where_rows_are_read(sample: Path) -> None:
    """The same as Spark would: on offsets, times, topics and kinds."""
    every = read(sample, includeMetadata=True)
    moment = datetime.fromtimestamp(START / 1e6, UTC).replace(microsecond=50_000)

    def filtered(*filters: object) -> pa.Table:
        return read(sample, includeMetadata=True, filters=list(filters))  # type: ignore[arg-type]

    assert offsets(filtered(GreaterThan(("offset",), 10), LessThanOrEqual(("offset",), 12))) == [11, 12]
    assert offsets(filtered(EqualTo(("offset",), 1500))) == [1500]
    assert filtered(GreaterThanOrEqual(("timestamp",), moment)).equals(every.filter(pc.field("timestamp") >= moment))
    assert filtered(LessThan(("timestamp",), moment)).equals(every.filter(pc.field("timestamp") < moment))
    assert filtered(EqualTo(("topic",), "jobs"), In(("kind",), ("settle", "deliver"))).equals(
        every.filter((pc.field("topic") == "jobs") & pc.field("kind").isin(["settle", "deliver"]))
    )
    assert filtered(StringStartsWith(("topic",), "plant/1")).equals(
        every.filter(pc.starts_with(pc.field("topic"), "plant/1"))
    )
    assert filtered(EqualTo(("partition",), 1)).num_rows == 0
    assert filtered(IsNotNull(("offset",)), EqualTo(("kind",), "nonesuch")).num_rows == 0


def test_files_without_wanted_times_are_not_opened(sample: Path) -> None:
    """So a minute of a year costs a minute."""
    made = reader(sample, pushDownFilters=True)
    assert isinstance(made, FilteringReader)
    first = made.partitions()[0].rows
    second = JournalFolder(sample).pieces(0)[1]
    moment = datetime.fromtimestamp(second.earliest / 1e6, UTC)
    assert not list(made.pushFilters([LessThan(("timestamp",), moment)]))
    assert [task.rows for task in made.partitions()] == [first]


def test_other_filters_are_left_to_spark(sample: Path) -> None:
    """It decides them itself then."""
    left = [StringContains(("topic",), "a"), EqualTo(("size",), 3), EqualTo(("properties", "a"), "b")]
    made = reader(sample, includeMetadata=True, pushDownFilters=True)
    assert isinstance(made, FilteringReader)
    assert list(made.pushFilters(left)) == left


def test_an_empty_journal_has_no_rows(tmp_path: Path) -> None:
    """And one that is not there is an error."""
    assert read(tmp_path).num_rows == 0
    with pytest.raises(WrongOption, match="there is no folder"):
        reader(tmp_path / "none")


def test_what_is_beyond_the_end_is_lost(sample: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It may come later, or be that of another journal; who does not mind gets none."""
    beyond = {"startingOffsets": '{"0": 5000}'}
    with pytest.raises(DataLost, match="2000 rows are lost, offsets 3000 to 4999 of shard 0: it ends at 3000"):
        read(sample, **beyond)
    assert read(sample, failOnDataLoss=False, **beyond).num_rows == 0
    assert "2000 rows are lost" in caplog.text


def test_a_missing_file_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By its offsets; who does not mind gets the others."""
    write_sample(tmp_path, ROWS, segment_rows=1_000, frame_rows=100)
    middle = JournalFolder(tmp_path).pieces(0)[1]
    index = tmp_path / "log" / "shard=0000" / "index.jsonl"
    index.write_bytes(b"".join(line for n, line in enumerate(index.read_bytes().splitlines(True)) if n != 1))
    with pytest.raises(DataLost, match=f"offsets {middle.first} to {middle.end - 1} of shard 0: a file of the journal"):
        read(tmp_path)
    rest = read(tmp_path, includeMetadata=True, failOnDataLoss=False)
    assert offsets(rest) == [*range(middle.first), *range(middle.end, ROWS)]
    assert "a file of the journal is missing" in caplog.text


def test_a_reader_is_the_same_where_it_is_sent(sample: Path) -> None:
    """Tasks get a copy of it."""
    made = reader(sample, "offset")
    sent = cloudpickle.loads(cloudpickle.dumps(made))
    assert [batch.num_rows for batch in sent.read(sent.partitions()[0])] == [
        batch.num_rows for batch in made.read(made.partitions()[0])
    ]
    assert LocalJournal(sample).after_damage(0, 0) == pickle.loads(pickle.dumps(LocalJournal(sample))).after_damage(
        0, 0
    )


def test_a_flipped_bit_costs_its_frame_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And only if the user does not mind."""
    write_sample(tmp_path, ROWS, segment_rows=1_000, frame_rows=100, run=10)
    piece = JournalFolder(tmp_path).pieces(0)[1]
    octets = bytearray(piece.found().read_bytes())
    octets[len(octets) // 2] ^= 4
    piece.found().write_bytes(octets)
    with pytest.raises(DataLost, match="not as it was written"):
        read(tmp_path, includeMetadata=True)
    rest = read(tmp_path, includeMetadata=True, failOnDataLoss=False)
    lost = sorted(set(range(ROWS)) - set(offsets(rest)))
    assert 0 < len(lost) < 200
    assert f"{len(lost)} rows are lost, offsets {lost[0]} to {lost[-1]}" in caplog.text
