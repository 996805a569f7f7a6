"""What does a batch of messages look like in an attachment of ``put_batch``? No Twisted: Spark's tasks write it.

An attachment is an array of messages, each an array of: whether it is for a queue; the name of the topic or queue;
the payload; properties; and, each with what is usual where it is left out, retain, priority, time to live, delay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

_Seconds = Annotated[float, Meta(ge=0)]


class BatchMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One message of a batch."""

    to_queue: bool
    name: str
    payload: bytes
    properties: Mapping[str, str] = {}
    #: Of a message for a topic.
    retain: bool = False
    #: Of one for a queue.
    priority: Annotated[int, Meta(ge=0, le=9)] = 0
    time_to_live: _Seconds | None = None
    delay: _Seconds = 0.0


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[BatchMessage])


def pack(messages: Sequence[BatchMessage]) -> bytes:
    """As an attachment."""
    return _ENCODER.encode(messages)


def unpack(octets: bytes) -> list[BatchMessage]:
    """Raises `msgspec.DecodeError`."""
    return _DECODER.decode(octets)
