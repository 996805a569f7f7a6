"""What is in the journal, and what does Spark see of it? Tables made of the schemas."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.journal.kinds import NAMES, Kind
from fmqbus.pipeline.columns import COLUMNS, HEADERS, KAFKA_COLUMNS


def kinds() -> str:
    """What a row can be about."""
    rows = (f"| `{NAMES[kind]}` | {kind.value} | {kind.meaning} |" for kind in Kind)
    return "\n".join(("| kind | number in the log | what it says |", "|---|--:|---|", *rows))


def columns() -> str:
    """Those of the journal."""
    rows = (
        f"| `{each.name}` | {each.type} | {'yes' if each.nullable else 'never'} | {_meaning(each)} |" for each in SCHEMA
    )
    return "\n".join(("| column | type of Arrow | null | what it says |", "|---|---|---|---|", *rows))


def _meaning(field: pa.Field) -> str:
    meaning: str = field.metadata[b"meaning"].decode()
    return meaning


def source() -> str:
    """Those of the data source."""
    return "\n".join(("| column | type of Spark | made of | there |", "|---|---|---|---|", *_source_rows()))


def _source_rows() -> Iterator[str]:
    for column in COLUMNS.values():
        made_of = ", ".join(f"`{name}`" for name in column.needs) or "–"
        if column in KAFKA_COLUMNS:
            there = "always"
        else:
            there = "`includeHeaders`" if column is HEADERS else "`includeMetadata`"
        yield f"| `{column.name}` | `{column.type.simpleString()}` | {made_of} | {there} |"
