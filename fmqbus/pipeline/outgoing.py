"""How do rows of a DataFrame become messages of the bus? Column by column, each mistake named with its row.

Columns, of which ``value`` is needed, and one of ``topic`` and ``queue`` where no option names that: value (binary or
string), topic or queue (string), key (binary or string, the property ``key``), properties (map of strings) or headers
(as Kafka's source has them), retain (boolean), priority (integer), time_to_live and delay (seconds).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec
import pyarrow as pa

from fmqbus.errors import LocalError
from fmqbus.pipeline.columns import KEY_PROPERTY
from fmqbus.pipeline.options import WrongOption
from fmqbus.protocols.umq.batch import BatchMessage, pack

#: Rows are packed so many at a time; an attachment may have 16 MiB, however long the rows are.
_CHUNK_OCTETS = 4 * 1024 * 1024

_NAMES = frozenset(
    ("value", "topic", "queue", "key", "properties", "headers", "retain", "priority", "time_to_live", "delay")
)


class WrongRow(LocalError):
    """A row is no message. The text names it by its task's number and its place there, and the column."""

    reason = "row"


@attrs.frozen
class Destination:
    """Where rows go that do not say so themselves."""

    topic: str | None = None
    queue: str | None = None

    def check(self, columns: Sequence[str]) -> None:
        """Raises `WrongOption` for columns that no messages can be made of."""
        unknown = [name for name in columns if name not in _NAMES]
        if unknown:
            raise WrongOption(f"the bus has no column {', '.join(unknown)}; messages have {', '.join(sorted(_NAMES))}")
        if "value" not in columns:
            raise WrongOption("a message needs a column value")
        named = [name for name in ("topic", "queue") if name in columns or getattr(self, name) is not None]
        if len(named) != 1:
            raise WrongOption("say where messages go: a column or an option topic, or queue, and not both")
        if "properties" in columns and "headers" in columns:
            raise WrongOption("properties and headers are the same: give one of them")


def packed(batches: Iterator[pa.RecordBatch], destination: Destination, task: int) -> tuple[list[bytes], int]:
    """Rows as attachments, and how many rows. Raises `WrongRow`."""
    chunks: list[bytes] = []
    waiting: list[BatchMessage] = []
    octets = count = 0
    for batch in batches:
        for row in batch.to_pylist():
            try:
                message = _message(row, destination)
            except (ValueError, TypeError, KeyError) as error:
                raise WrongRow(f"row {count} of task {task}: {error}") from None
            waiting.append(message)
            count += 1
            octets += len(message.payload) + len(message.name)
            if octets >= _CHUNK_OCTETS:
                chunks.append(pack(waiting))
                waiting, octets = [], 0
    if waiting:
        chunks.append(pack(waiting))
    return chunks, count


def _message(row: Mapping[str, Any], destination: Destination) -> BatchMessage:
    to_queue = destination.queue is not None or "queue" in row
    name = row.get("queue" if to_queue else "topic") or (destination.queue if to_queue else destination.topic)
    if not name:
        raise ValueError(f"{'queue' if to_queue else 'topic'} is missing")
    value = row["value"]
    if value is None:
        raise ValueError("value is null; an empty message is one of no octets")
    properties = _properties(row)
    message = {
        "to_queue": to_queue,
        "name": name,
        "payload": _octets(value),
        "properties": properties,
        "retain": bool(row.get("retain") or False),
        "priority": row.get("priority") or 0,
        "time_to_live": row.get("time_to_live"),
        "delay": row.get("delay") or 0.0,
    }
    return msgspec.convert(
        tuple(message[field] for field in BatchMessage.__struct_fields__), BatchMessage, strict=False
    )


def _properties(row: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, text in row.get("properties") or ():
        if text is None:
            raise ValueError(f"property {key} is null")
        found[key] = text
    for header in row.get("headers") or ():
        found[header["key"]] = _text("header " + header["key"], header["value"])
    if row.get("key") is not None:
        found[KEY_PROPERTY] = _text("key", row["key"])
    return found


def _octets(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _text(what: str, value: Any) -> str:
    try:
        return value if isinstance(value, str) else bytes(value or b"").decode()
    except UnicodeDecodeError:
        raise ValueError(f"{what} is not UTF-8, and the bus's properties are text") from None
