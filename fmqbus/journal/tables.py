"""How are the rows of a sealed table read? It has a range of offsets without holes: an offset tells the row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.expand import BATCH_ROWS
from fmqbus.journal.journal_schema import narrowed


def read_table(
    source: Path | BinaryIO, table_first: int, first: int, end: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield rows `first` to `end` (exclusive) of a table, whose first row has offset `table_first`.

    Columns that the table is too old to have are null. Raises as `fmqbus.journal.reading.read_segment`.
    """
    schema = narrowed(columns)
    path = source if isinstance(source, Path) else source.name
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            known = set(file.schema_arrow.names)
            begin, groups = table_first, []
            start: int | None = None
            for number in range(file.num_row_groups):
                rows = file.metadata.row_group(number).num_rows
                if begin < end and begin + rows > first:
                    groups.append(number)
                    start = begin if start is None else start
                begin += rows
            if begin < end or first < table_first:
                raise MissingRows(f"{path}: it does not have all of them", -1, max(begin, first), end)
            at = table_first if start is None else start
            wanted = [name for name in schema.names if name in known]
            for batch in file.iter_batches(BATCH_ROWS, row_groups=groups, columns=wanted):
                low, high = max(first - at, 0), min(end - at, batch.num_rows)
                at += batch.num_rows
                if low < high:
                    yield _conformed(batch.slice(low, high - low), schema)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DamagedFrame(f"{path}: {error}") from error


def _conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    known = set(batch.schema.names)
    arrays = [
        batch.column(field.name).cast(field.type) if field.name in known else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
