"""How does a message become a row, and a row a message?

Each row ends with a digest of its other columns, so that a damaged one is known for what it is. The digest is made from
what the bus said, and not from what the file holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import attrs
import msgspec

from fmqbus.model import NO_PROPERTIES, Message, StoredMessage

Row = tuple[Any, ...]

_DIGEST_OCTETS = 8
_NO_PROPERTIES = b"{}"


def digest(*columns: Any) -> bytes:
    """Of a row's columns; two rows that differ in anything have different ones, but for one pair in 2**64."""
    return blake2b(msgspec.msgpack.encode(columns), digest_size=_DIGEST_OCTETS).digest()


@attrs.frozen
class Table:
    """A table whose rows have a digest."""

    name: str
    #: What tells one row from all others.
    key: tuple[str, ...]
    columns: tuple[str, ...]
    order: str

    @property
    def insert(self) -> str:
        """SQL that takes a row, in place of a former one of the same key."""
        names = (*self.columns, "digest")
        return f"INSERT OR REPLACE INTO {self.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"

    @property
    def update(self) -> str:
        """SQL that takes a row too, and does nothing where there is none of this key."""
        assignments = ", ".join(f"{name} = ?{number}" for number, name in enumerate((*self.columns, "digest"), 1))
        return f"UPDATE {self.name} SET {assignments} WHERE {self._has_key}"

    @property
    def delete(self) -> str:
        """SQL that takes a key."""
        return f"DELETE FROM {self.name} WHERE {self._has_key}"

    @property
    def select(self) -> str:
        """SQL for all rows."""
        return f"SELECT {', '.join((*self.columns, 'digest'))} FROM {self.name} ORDER BY {self.order}"

    @property
    def _has_key(self) -> str:
        return " AND ".join(f"{name} = ?{number}" for number, name in enumerate(self.key, 1))


#: ``crashes`` is that of `LIFE` when the row was written: where it is more by now, the message may have been handed out
#: since, and nothing could be written of it.
MESSAGES = Table(
    "messages",
    ("queue", "number"),
    (
        "queue",
        "number",
        "topic",
        "payload",
        "is_retain",
        "is_will",
        "properties",
        "priority",
        "expires_at",
        "not_before",
        "deliveries",
        "is_redelivered",
        "crashes",
    ),
    order="queue, number",
)
#: ``serial`` is given by SQLite, and rises with each message put.
RETAINED = Table("retained", ("topic",), ("topic", "payload", "is_retain", "is_will", "properties"), order="serial")
#: See `fmqbus.stores.sqlite.schedule_rows`.
SCHEDULES = Table(
    "schedules",
    ("key",),
    (
        "key",
        "due",
        "runs_left",
        "is_paused",
        "missed",
        "timing",
        "queue",
        "topic",
        "payload",
        "is_retain",
        "is_will",
        "properties",
        "terms",
        "owner",
    ),
    order="key",
)
#: One row: whether a broker has the file open, or ended without closing it; how often the latter has been found.
LIFE = Table("life", ("id",), ("id", "is_open", "crashes"), order="id")
#: What is saved of a damaged file.
KEPT = (MESSAGES, RETAINED, SCHEDULES)
TABLES = (*KEPT, LIFE)


@attrs.frozen(eq=False)
class Statement:
    """A kind of change, and how its subjects become parameters. The latter is done in the thread."""

    sql: str
    row: Callable[[Any], Row]


def is_whole(row: Row) -> bool:
    """Whether a row is what was written."""
    *columns, known = row
    return bool(digest(*columns) == known)


def life_row(is_open: bool, crashes: int) -> Row:
    """The one row of `LIFE`."""
    columns = (0, int(is_open), crashes)
    return (*columns, digest(*columns))


def message_row(snapshot: Row) -> Row:
    """The row of what `snapshot_of` returned."""
    queue, number, message, priority, expires_at, not_before, deliveries, is_redelivered, crashes = snapshot
    columns = (
        queue,
        number,
        *message_columns(message),
        priority,
        None if expires_at is None else float(expires_at),
        float(not_before),
        deliveries,
        int(is_redelivered),
        crashes,
    )
    return (*columns, digest(*columns))


def snapshot_of(stored: StoredMessage, crashes: int) -> Row:
    """What can change of a message, as it is now, and what cannot."""
    return (
        stored.queue,
        stored.number,
        stored.message,
        stored.priority,
        stored.expires_at,
        stored.not_before,
        stored.deliveries,
        stored.is_redelivered,
        crashes,
    )


def stored_message(row: Row, crashes: int) -> StoredMessage:
    """The message of a row, after so many crashes."""
    queue, number, *message, priority, expires_at, not_before, deliveries, is_redelivered, then, _ = row
    may_be_known = bool(is_redelivered or deliveries or then < crashes)
    return StoredMessage(
        queue, number, message_of(*message), priority, expires_at, not_before, deliveries, is_redelivered=may_be_known
    )


def retained_row(message: Message) -> Row:
    """The row of a retained message."""
    columns = message_columns(message)
    return (*columns, digest(*columns))


def retained_message(row: Row) -> Message:
    """The message of a row."""
    return message_of(*row[:-1])


def message_columns(message: Message) -> Row:
    """What any row says of its message."""
    # JSON in ASCII: it can carry any str, also one that is no valid Unicode
    properties = json.dumps(dict(message.properties)).encode() if message.properties else _NO_PROPERTIES
    return (message.topic, message.payload, int(message.retain), int(message.will), properties)


def message_of(topic: bytes, payload: bytes, is_retain: int, is_will: int, properties: bytes) -> Message:
    """The message of such columns."""
    known: Mapping[str, str] = NO_PROPERTIES if properties == _NO_PROPERTIES else json.loads(properties)
    return Message(topic, payload, bool(is_retain), bool(is_will), known)


APPEND = Statement(MESSAGES.insert, message_row)
#: As `APPEND`, over a row that has been removed since the last commit.
APPEND_ANEW = Statement(MESSAGES.insert, message_row)
DELIVERED = Statement(MESSAGES.update, message_row)
REMOVE = Statement(MESSAGES.delete, tuple)
KEEP = Statement(RETAINED.insert, retained_row)
FORGET = Statement(RETAINED.delete, lambda topic: (topic,))
