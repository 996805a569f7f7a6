"""The data source's reader for DataFrames that are read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from fmqbus.pipeline.access import Journal
from fmqbus.pipeline.options import EARLIEST, LATEST, Options, Place
from fmqbus.pipeline.ranges import Range
from fmqbus.pipeline.reading import Reading, Task


class FMQBusReader(DataSourceReader):
    """Reads from the earliest to the latest row, unless told otherwise. Filters of Spark leave out files and rows."""

    def __init__(self, options: Options, reading: Reading) -> None:
        self._options = options
        self._reading = reading

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reading.choice.narrow(filters)

    def partitions(self) -> Sequence[InputPartition]:
        options, journal = self._options, self._reading.journal
        starts = places(journal, options.starting, options.starting_time, EARLIEST)
        ends = places(journal, options.ending, options.ending_time, LATEST)
        wanted = [Range(shard, starts[shard], ends[shard]) for shard in sorted(starts)]
        for each in wanted:
            if each.first > each.end:
                # what is asked for is beyond the end: lost, or not yet there
                self._reading.tasks([Range(each.shard, each.end, each.first)])
        return self._reading.tasks([each for each in wanted if each.first < each.end])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        return self._reading.rows(partition)


def places(journal: Journal, place: Place | None, time: int | None, otherwise: int) -> dict[int, int]:
    """For each shard that there is, or that is named, the offset that is meant by a place or a time."""
    shards = set(journal.shards())
    if time is not None:
        return {shard: journal.offset_at(shard, time) for shard in shards}
    place = place or Place(otherwise)
    found = {}
    for shard in shards | set(place.shards):
        asked = place.shards.get(shard, place.otherwise)
        if asked == EARLIEST:
            found[shard] = journal.earliest(shard)
        else:
            found[shard] = journal.end(shard) if asked == LATEST else asked
    return found
