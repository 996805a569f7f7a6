"""A stream reads every row once, in batches as large as it was told; without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxRows

from fmqbus.journal.samples import write_sample
from fmqbus.pipeline.reading import DataLost
from fmqbus.pipeline.stream import FMQBusStreamReader
from tests.pipeline.conftest import ROWS
from tests.pipeline.reading import stream

Offsets = dict[str, int]


def batches(reader: FMQBusStreamReader, start: Offsets) -> Iterator[tuple[Offsets, Offsets]]:
    """From where to where the batches go until there is nothing more, as Spark asks for them."""
    limit: ReadLimit = reader.getDefaultReadLimit()
    while (end := reader.latestOffset(start, limit)) != start:
        yield start, end
        start = end


def read(reader: FMQBusStreamReader, start: Offsets, end: Offsets) -> list[int]:
    """The offsets of a batch's rows."""
    rows = [batch.column("offset") for task in reader.partitions(start, end) for batch in reader.read(task)]
    return [offset for column in rows for offset in column.to_pylist()]


def test_a_stream_begins_at_the_end(sample: Path) -> None:
    """As Kafka's does, unless told otherwise."""
    assert stream(sample).initialOffset() == {"0": ROWS}
    assert stream(sample, startingOffsets="earliest").initialOffset() == {"0": 0}
    assert stream(sample, startingOffsets='{"0": 17}').initialOffset() == {"0": 17}


@pytest.mark.parametrize(
    ("options", "count"),
    [({}, 1), ({"maxOffsetsPerTrigger": 250}, 12), ({"maxBytesPerTrigger": 1}, ROWS - 2990)],
)
def test_every_row_comes_once(sample: Path, options: dict[str, int], count: int) -> None:
    """Whatever limit batches have."""
    reader = stream(sample, "offset", startingOffsets="earliest", includeMetadata=True, **options)
    start = reader.initialOffset() if count <= 12 and "maxBytesPerTrigger" not in options else {"0": 2990}
    found = list(batches(reader, start))
    assert len(found) == count
    assert [offset for each in found for offset in read(reader, *each)] == list(range(start["0"], ROWS))


def test_both_limits_hold(sample: Path) -> None:
    """Spark itself knows one at a time."""
    reader = stream(sample, "offset", maxOffsetsPerTrigger=100, maxBytesPerTrigger=300)
    assert isinstance(reader.getDefaultReadLimit(), ReadMaxRows)
    ((_, end), *_) = batches(reader, {"0": 0})
    assert 0 < end["0"] < 100
    assert isinstance(stream(sample, maxBytesPerTrigger=9).getDefaultReadLimit(), ReadMaxBytes)
    assert isinstance(stream(sample).getDefaultReadLimit(), ReadAllAvailable)


def test_the_same_offsets_give_the_same_rows(sample: Path) -> None:
    """However the reader came about: that is what makes a restart harmless."""
    one, other = stream(sample, includeMetadata=True), stream(sample, includeMetadata=True, minPartitions=9)
    for start, end in (({"0": 0}, {"0": 17}), ({"0": 990}, {"0": 2010})):
        assert read(one, start, end) == read(other, start, end) == list(range(start["0"], end["0"]))


def test_available_now_ends_where_the_journal_ended_then(tmp_path: Path) -> None:
    """What comes later is for the next time."""
    write_sample(tmp_path, 500, segment_rows=100, frame_rows=50, run=5)
    reader = stream(tmp_path, maxOffsetsPerTrigger=200)
    reader.prepareForTriggerAvailableNow()
    write_sample(tmp_path, 100, shard=1)
    found = list(batches(reader, {"0": 0}))
    assert [end for _, end in found] == [{"0": 200}, {"0": 400}, {"0": 500}]
    assert reader.reportLatestOffset() == {"0": 500, "1": 100}


def test_a_shard_that_comes_later_is_read_from_its_first_row(tmp_path: Path) -> None:
    """It was not there when the query began, so nothing of it was skipped."""
    write_sample(tmp_path, 100)
    reader = stream(tmp_path, "partition", "offset", includeMetadata=True)
    start = reader.initialOffset()
    write_sample(tmp_path, 50, shard=1)
    ((_, end),) = batches(reader, start)
    assert end == {"0": 100, "1": 50}
    assert read(reader, start, end) == list(range(50))


def test_a_journal_that_fell_back_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Somebody has put another one in its place."""
    write_sample(tmp_path, 100)
    with pytest.raises(DataLost, match="has come to offset 500 of shard 0, and the journal ends at 100"):
        stream(tmp_path).latestOffset({"0": 500}, ReadAllAvailable())
    assert stream(tmp_path, failOnDataLoss=False).latestOffset({"0": 500}, ReadAllAvailable()) == {"0": 500}
    assert "nothing is read of it" in caplog.text


def test_a_named_reader_keeps_its_position(tmp_path: Path) -> None:
    """From its beginning on, so that nothing is trimmed under it."""
    write_sample(tmp_path, 100)
    reader = stream(tmp_path, readerName="nightly", startingOffsets='{"0": 10}')
    place = tmp_path / "readers" / "nightly.json"
    reader.initialOffset()
    assert json.loads(place.read_bytes()) == {"0": 10}
    reader.commit({"0": 60})
    assert json.loads(place.read_bytes()) == {"0": 60}
    assert [path.name for path in place.parent.iterdir()] == ["nightly.json"]
    stream(tmp_path).commit({"0": 70})
    assert json.loads(place.read_bytes()) == {"0": 60}
