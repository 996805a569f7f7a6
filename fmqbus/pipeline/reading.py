"""How does a task get its rows, and what becomes of those that are not there?

A row that should be there and is not ends the query, or, with ``failOnDataLoss=false``, is counted in a warning of the
logger ``fmqbus.pipeline``. It is never left out in silence.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from fmqbus.journal.errors import DamagedFrame, JournalError, MissingRows
from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.pipeline import ranges
from fmqbus.pipeline.access import Journal
from fmqbus.pipeline.choice import Choice
from fmqbus.pipeline.columns import Selection
from fmqbus.pipeline.ranges import Range

log = logging.getLogger("fmqbus.pipeline")

_GO_ON = "; with the option failOnDataLoss=false they are counted and left out"


class DataLost(JournalError):
    """Rows that a query is to read are not there. The text says which, and how to go on without them."""

    reason = "data-lost"


class Task(InputPartition):
    """What one task reads."""

    def __init__(self, rows: Range) -> None:
        super().__init__(None)
        self.rows = rows

    def __repr__(self) -> str:
        return f"Task({self.rows})"


@attrs.frozen
class Reading:
    """All that a task needs to know. Goes to each of them."""

    journal: Journal
    selection: Selection
    choice: Choice
    fails: bool
    least_tasks: int = 1

    def tasks(self, wanted: Sequence[Range]) -> list[Task]:
        """Cut ranges into tasks where files end, without those in which nothing can be wanted.

        Raises `DataLost`, or tells of what is lost, for rows that are not there.
        """
        found: list[Range] = []
        for each in wanted:
            if self.choice.shards is not None and each.shard not in self.choice.shards:
                continue
            first, end = max(each.first, self.choice.offsets.low), min(each.end, self.choice.offsets.high)
            if first >= end:
                continue
            asked = Range(each.shard, first, end)
            pieces = self.journal.pieces(each.shard, first, end)
            for lost in ranges.missing(asked, ranges.present(asked, pieces)):
                self._lose(lost.shard, lost.first, lost.end, self._why(lost))
            times = self.choice.times
            near = [piece for piece in pieces if piece.latest >= times.low and piece.earliest < times.high]
            found += ranges.present(asked, near)
        return [Task(each) for each in ranges.split(found, self.least_tasks)]

    def rows(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a task that are wanted, as Spark wants them."""
        shard, at, end = task.rows.shard, task.rows.first, task.rows.end
        needs = self.selection.needs | self.choice.needs or {"offset"}
        columns = [name for name in SCHEMA.names if name in needs]
        while at < end:
            try:
                for batch in self.journal.read(shard, at, end, columns):
                    if self.choice.hides_gaps:
                        self._look_for_gaps(shard, at, batch)
                    at += batch.num_rows
                    rows = self.choice.rows(batch)
                    if rows.num_rows:
                        yield self.selection.rows(rows)
            except MissingRows as error:
                behind = min(max(error.end, at + 1), end)
                self._lose(shard, at, behind, str(error))
                at = behind
            except DamagedFrame as error:
                behind = min(max(self.journal.after_damage(shard, at), at + 1), end)
                self._lose(shard, at, behind, str(error))
                at = behind

    def _look_for_gaps(self, shard: int, first: int, batch: pa.RecordBatch) -> None:
        """A gap that the bus itself has recorded is a row that a query for messages does not see."""
        if not pc.any(pc.equal(batch.column("kind"), "gap")).as_py():
            return
        for part in self.journal.read(shard, first, first + batch.num_rows, ["offset", "kind", "lost"]):
            gaps = part.filter(pc.equal(part.column("kind"), "gap"))
            for offset, lost in zip(gaps.column("offset").to_pylist(), gaps.column("lost").to_pylist(), strict=True):
                text = f"the bus could not write {lost or 0} rows into the journal, at offset {offset} of shard {shard}"
                if self.fails:
                    raise DataLost(f"{text}{_GO_ON}, and with includeMetadata=true they are told in a row of kind gap")
                log.warning("%s", text)

    def _why(self, lost: Range) -> str:
        journal = self.journal
        end, earliest = journal.end(lost.shard), journal.earliest(lost.shard)
        if lost.first >= end:
            return f"it ends at {end}: it is another journal than before, or startingOffsets is beyond its end"
        if lost.first < earliest:
            return f"they are trimmed away, and the oldest that are kept begin at {earliest}"
        return "a file of the journal is missing"

    def _lose(self, shard: int, first: int, end: int, why: str) -> None:
        text = f"{end - first} rows are lost, offsets {first} to {end - 1} of shard {shard}: {why}"
        if self.fails:
            raise DataLost(f"{text}{_GO_ON}")
        log.warning("%s", text)
