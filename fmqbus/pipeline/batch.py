"""The data source's readers for DataFrames.

Spark asks a reader for its filters if it has a method for that. What it then plans belongs to what was loaded, rather
than to the query: up to 4.3 at least, a second query of the same DataFrame, or the other side of a union, reads with
the filters of the first, and so lacks rows. So filters decide what is read only where the user says, by the option
``pushDownFilters``, that what is loaded is for one query. Elsewhere Spark filters what it gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from fmqbus.pipeline.access import Journal
from fmqbus.pipeline.options import EARLIEST, LATEST, Options, Place
from fmqbus.pipeline.ranges import Range
from fmqbus.pipeline.reading import Reading, Task


class FMQBusReader(DataSourceReader):
    """Reads from the earliest to the latest row, unless told otherwise."""

    def __init__(self, options: Options, reading: Reading) -> None:
        self._options = options
        self._reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        wanted = wanted_of(self._reading.journal, self._options)
        for each in wanted:
            if each.first > each.end:
                # what is asked for is beyond the end: lost, or not yet there
                self._reading.tasks([Range(each.shard, each.end, each.first)])
        return self._reading.tasks([each for each in wanted if each.first < each.end])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # where there are no tasks, Spark makes one of its own
        return self._reading.rows(partition) if isinstance(partition, Task) else iter(())


class FilteringReader(FMQBusReader):
    """The same for one query alone, whose filters leave out files and rows."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._reading.choice.narrow(filters)


def wanted_of(journal: Journal, options: Options) -> Sequence[Range]:
    """The range of each shard that is asked for. One that begins behind its end is not there."""
    starts = places(journal, options.starting, options.starting_time, EARLIEST)
    ends = places(journal, options.ending, options.ending_time, LATEST)
    return [Range(shard, starts[shard], ends[shard]) for shard in sorted(starts)]


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
