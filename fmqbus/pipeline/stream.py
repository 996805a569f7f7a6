"""The data source's reader for streams: which rows each batch has, and how far the query has come.

Offsets in a checkpoint are ``{"SHARD": OFFSET}``, the row that comes next. The same two give the same rows after any
failure. One reader lives in a process beside the driver for as long as the query runs; `read` runs in tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from fmqbus.pipeline import ranges
from fmqbus.pipeline.batch import places
from fmqbus.pipeline.options import LATEST, Options
from fmqbus.pipeline.ranges import Offsets, Range
from fmqbus.pipeline.reading import DataLost, Reading, Task, log

JSONOffsets = Mapping[str, int]


class FMQBusStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Begins with what is written after its start, unless told otherwise; see `initialOffset`."""

    def __init__(self, options: Options, reading: Reading) -> None:
        self._options = options
        self._reading = reading
        self._journal = reading.journal
        #: Where a query ends that is to read only what is there.
        self._last: Offsets | None = None

    def initialOffset(self) -> dict[str, int]:
        """Where a query begins that has no checkpoint. Shards that come later are read from their first row."""
        options = self._options
        begin = places(self._journal, options.starting, options.starting_time, LATEST)
        self._keep(begin)
        return ranges.to_json(begin)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark knows one limit at a time; where there are two, `latestOffset` knows the other."""
        if self._options.max_offsets is not None:
            return ReadMaxRows(self._options.max_offsets)
        if self._options.max_octets is not None:
            return ReadMaxBytes(self._options.max_octets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._heads()

    def reportLatestOffset(self) -> dict[str, int]:
        """For the query's progress: how far the journal goes."""
        return ranges.to_json(self._heads())

    def latestOffset(self, start: JSONOffsets, limit: ReadLimit) -> dict[str, int]:
        """How far the next batch goes."""
        begin = dict(ranges.from_json(start))
        heads = dict(self._last if self._last is not None else self._heads())
        for shard, offset in begin.items():
            if heads.get(shard, 0) < offset:
                self._fell_back(shard, offset, heads.get(shard, 0))
                heads[shard] = offset
        for shard in heads:
            begin.setdefault(shard, 0)
        end: Offsets = heads
        if isinstance(limit, ReadMaxRows):
            end = ranges.limit_rows(begin, end, limit.max_rows)
        octets = limit.max_bytes if isinstance(limit, ReadMaxBytes) else self._options.max_octets
        if octets is not None and not isinstance(limit, ReadAllAvailable):
            extents = [piece for shard in end for piece in self._journal.pieces(shard, begin[shard], end[shard])]
            end = ranges.limit_octets(begin, end, extents, octets)
        return ranges.to_json(end)

    def partitions(self, start: JSONOffsets, end: JSONOffsets) -> Sequence[InputPartition]:
        begins, ends = ranges.from_json(start), ranges.from_json(end)
        return self._reading.tasks(
            [
                Range(shard, begins.get(shard, 0), ends[shard])
                for shard in sorted(ends)
                if begins.get(shard, 0) < ends[shard]
            ]
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # where there are no tasks, Spark makes one of its own
        return self._reading.rows(partition) if isinstance(partition, Task) else iter(())

    def commit(self, end: JSONOffsets) -> None:
        """All before `end` is done with: what nobody else reads may be trimmed away."""
        self._keep(ranges.from_json(end))

    def stop(self) -> None:
        """Nothing is held open between batches."""

    def _heads(self) -> Offsets:
        return {shard: self._journal.end(shard) for shard in self._journal.shards()}

    def _keep(self, offsets: Offsets) -> None:
        if self._options.reader is not None:
            self._journal.keep_position(self._options.reader, offsets)

    def _fell_back(self, shard: int, offset: int, end: int) -> None:
        text = f"the query has come to offset {offset} of shard {shard}, and the journal ends at {end}"
        if self._options.fails_on_data_loss:
            raise DataLost(f"{text}: it is another journal than before, or startingOffsets is beyond its end")
        log.warning("%s; nothing is read of it until it has come there", text)
