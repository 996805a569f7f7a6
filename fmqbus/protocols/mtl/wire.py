"""How do publications look on MTL's wire? As contents, all but the sequence, which is each receiver's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fmqbus.model import Message
from fmqbus.protocols.mtl.data_codec import write_rest, write_table_with_length
from fmqbus.protocols.mtl.properties import table_of


class Written(NamedTuple):
    """One content, for whoever gets it."""

    topic: bytes
    #: What follows the sequence in the header, for those who call the topic what the bus calls it.
    rest: bytes
    #: The table with its length, for those who do not.
    table: bytes
    body: bytes


class MTLFormat:
    """`fmqbus.model.WireFormat` of publications."""

    name = "mtl"

    def encode(self, messages: Sequence[Message]) -> Sequence[Written]:
        """Return one content for each message."""
        return [_written(message) for message in messages]

    def decode(self, data: Sequence[Written]) -> Iterator[Message]:
        """No publication ever comes in this form: contents are messages at once."""
        raise NotImplementedError


def _written(message: Message) -> Written:
    table = write_table_with_length(table_of(message))
    return Written(message.topic, write_rest(message.topic, table), table, message.payload)


WIRE = MTLFormat()
