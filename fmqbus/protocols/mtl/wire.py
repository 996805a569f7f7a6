"""How do publications look on MTL's wire? As contents, all but the sequence, which is each receiver's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fmqbus.model import Message
from fmqbus.protocols.mtl.data_codec import read_table_with_length, write_rest, write_table_with_length
from fmqbus.protocols.mtl.properties import table_of, to_bus


class Written(NamedTuple):
    """One content, for whoever gets it."""

    #: What follows the sequence in the header, for those who call the topic what the bus calls it.
    rest: bytes
    body: bytes
    topic: bytes
    #: The table with its length, for those who call the topic something else.
    table: bytes


class Contents:
    """Contents of one publication, in their order. Its length is in octets."""

    __slots__ = ("_octets", "written")

    def __init__(self, written: Sequence[Written], octets: int) -> None:
        self.written = written
        self._octets = octets

    def __len__(self) -> int:
        return self._octets


class MTLFormat:
    """`fmqbus.model.WireFormat` of publications."""

    name = "mtl"

    def encode(self, messages: Sequence[Message]) -> Contents:
        """Return one content for each message."""
        written = [_written(message) for message in messages]
        return Contents(written, sum(len(each.rest) + len(each.body) for each in written))

    def decode(self, data: Contents) -> Iterator[Message]:
        """Yield the messages of a run that came by this protocol."""
        for _, body, topic, table in data.written:
            yield Message(topic, body, properties=to_bus(read_table_with_length(table)))


def _written(message: Message) -> Written:
    table = write_table_with_length(table_of(message))
    return Written(write_rest(message.topic, table), message.payload, message.topic, table)


WIRE = MTLFormat()
