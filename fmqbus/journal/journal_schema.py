"""The columns of the journal, documented here and nowhere else.

A row is one thing that happened to one message, call, pattern or client. Which columns a kind of row fills is said in
`fmqbus.journal.kinds`; all others are null.

Additions are new columns at the end, new kinds, and a higher `SCHEMA_VERSION`; nothing is ever renamed, removed or
given another meaning. A reader of version 1 reads the rows of version 2 and does not see what has been added; kinds
that it does not know are called ``kind-NUMBER``.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from fmqbus.journal.kinds import SCHEMA_VERSION

_TIME = pa.timestamp("us", tz="UTC")


def _column(name: str, kind: pa.DataType, meaning: str, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable, {b"meaning": meaning.encode()})


SCHEMA = pa.schema(
    [
        _column("offset", pa.int64(), "rises by one with each row of a shard, and never repeats", nullable=False),
        _column("shard", pa.int32(), "which broker's log this is of; a number that its configuration gives", False),
        _column(
            "boot", _TIME, "when that broker was started; sessions and calls are numbered anew from then on", False
        ),
        _column("time", _TIME, "when it happened, by the broker's clock, which may have been set back", False),
        _column("kind", pa.string(), "what happened, see `fmqbus.journal.kinds`", nullable=False),
        _column("protocol", pa.string(), "of the client that did it, or that it was done to; null for the bus itself"),
        _column("session", pa.int64(), "that client's number, unique since boot"),
        _column("client", pa.string(), "that client's address, with the port where there is one"),
        _column("principal", pa.string(), "the name that it has proved; null if none"),
        _column("topic", pa.string(), "of a topic, queue or method; a pattern in rows of demand"),
        _column("payload", pa.binary(), "null where the configuration keeps none, and in rows that have none"),
        _column("size", pa.int32(), "octets of the payload, also where it is not kept"),
        _column("properties", pa.map_(pa.string(), pa.string()), "what came beside the payload; null if nothing"),
        _column("retain", pa.bool_(), "to be kept as the last value of the topic"),
        _column("will", pa.bool_(), "the last will of a client that went"),
        _column("subscribers", pa.int32(), "how many clients it went to, or how many subscriptions there are"),
        _column("message_id", pa.int64(), "number of a queue's message or of a call, by which rows belong together"),
        _column("priority", pa.int32(), "0 to 9"),
        _column("deliveries", pa.int32(), "how often it has been handed to a consumer by now"),
        _column("expires_at", _TIME, "when it will be of no use; null for never"),
        _column("not_before", _TIME, "when it may be delivered; null for at once"),
        _column("outcome", pa.string(), "how it ended"),
        _column("latency_us", pa.int64(), "microseconds that it took"),
        _column("lost", pa.int64(), "how many rows a gap stands for"),
    ],
    metadata={b"fmqbus.journal.schema": str(SCHEMA_VERSION).encode()},
)


def narrowed(columns: Sequence[str] | None) -> pa.Schema:
    """The schema with these columns alone, in this order; all for None. Raises `KeyError` for an unknown one."""
    if columns is None:
        return SCHEMA
    return pa.schema([SCHEMA.field(name) for name in columns], metadata=SCHEMA.metadata)
