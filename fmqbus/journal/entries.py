"""What is in a frame's body? Entries, the clients that they name, and the octets of messages. The writer's side.

Sans-I/O, and without anything but the standard library and msgspec, for the broker imports it.

An entry stands for one row or for a whole run of them, so that a run costs what one message does. What is the same for
all rows of an entry is in its 32 octets; what differs is in `length` octets at `at`, in one of these layouts:

PACKETS
    Publications as FMQP has them on the wire, one behind the other: flags, length of the topic (one octet), length of
    the payload (four, big-endian), topic, payload. They stand here as they came in. Rows of a run mostly have one head,
    and so one length; whoever reads them cuts them all at once.
HEADS
    The same without the payloads. A single head stands for all rows of the entry.
RECORDS
    A MessagePack array of rows, each an array as `Record` has it; what stands at its end and is null may be left out.

Behind the entries stand two lists that they name from 1 on, `Lists` in MessagePack: the clients, of which 0 is the bus
itself, and outcomes, of which 0 is none.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import msgspec

from fmqbus.journal.frames import Header, Octets, crc_of, encode_header
from fmqbus.journal.kinds import SCHEMA_VERSION
from fmqbus.limits import KIB, MIB

PACKETS, HEADS, RECORDS = range(3)

# kind, layout, outcome, client, subscribers, time, rows, at, length
ENTRY = struct.Struct("<BBHIIqIII")
ENTRY_OCTETS = ENTRY.size
#: The same for numpy.
ENTRY_FIELDS = [
    ("kind", "u1"),
    ("layout", "u1"),
    ("outcome", "<u2"),
    ("client", "<u4"),
    ("subscribers", "<u4"),
    ("time", "<i8"),
    ("rows", "<u4"),
    ("at", "<u4"),
    ("length", "<u4"),
]

#: An FMQP packet's head: flags, octets of the topic, octets of the payload.
PACKET_HEAD = struct.Struct(">BBI")
RETAIN = 0x04
WILL = 0x08

#: What a frame may hold before it is written; one message more may go beyond.
FRAME_OCTETS = 4 * MIB
FRAME_ENTRIES = 32 * KIB


class Client(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who did something, or to whom it was done. Of who has only called, no session is known."""

    session: int | None
    protocol: str
    address: str
    principal: str | None = None


class Lists(msgspec.Struct, array_like=True, gc=False):
    """What the entries of a frame name by number."""

    clients: list[Client]
    outcomes: list[str] = []


class Record(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    """What differs between the rows of an entry; the names are those of `fmqbus.journal.journal_schema`."""

    topic: bytes | None = None
    payload: bytes | None = None
    size: int | None = None
    properties: Mapping[str, str] | None = None
    flags: int = 0
    message_id: int | None = None
    priority: int | None = None
    deliveries: int | None = None
    expires_at: int | None = None
    not_before: int | None = None
    latency_us: int | None = None
    lost: int | None = None


class FrameBuilder:
    """One frame as it grows. Its memory is used again for the next one, since fresh memory costs more than copying."""

    def __init__(self, shard: int, boot: int, octets: int = FRAME_OCTETS) -> None:
        self.rows = 0
        self._shard = shard
        self._boot = boot
        self._usual_octets = octets
        self._clients: dict[Client, int] = {}
        self._outcomes: dict[str, int] = {}
        self._entries = bytearray(ENTRY_OCTETS * FRAME_ENTRIES)
        self._entries_end = 0
        # by a view, which takes octets as they are; to the array itself they would go by way of a copy
        self._blob = memoryview(bytearray(octets))
        self._blob_end = 0
        #: The times of its rows.
        self.earliest = self.latest = 0
        self._encode = msgspec.msgpack.Encoder().encode

    @property
    def octets(self) -> int:
        """What it holds by now."""
        return self._entries_end + self._blob_end

    def has_room(self, octets: int) -> bool:
        """Whether an entry of this size can be added. An empty frame has room for any."""
        return not self._entries_end or (
            self._blob_end + octets <= self._usual_octets and self._entries_end < len(self._entries)
        )

    def add(
        self,
        kind: int,
        layout: int,
        client: Client | None,
        time: int,
        rows: int,
        data: Octets,
        subscribers: int = 0,
        outcome: str = "",
    ) -> None:
        """Add an entry; `time` is in POSIX microseconds. Look whether there `has_room` before."""
        at = self._blob_end
        end = self._blob_end = at + len(data)
        if end > len(self._blob):
            longer = memoryview(bytearray(end))
            longer[:at] = self._blob[:at]
            self._blob = longer
        self._blob[at:end] = data
        if client is None:
            number = 0
        else:
            number = self._clients.get(client) or self._clients.setdefault(client, len(self._clients) + 1)
        ended = self._outcomes.setdefault(outcome, len(self._outcomes) + 1) if outcome else 0
        ENTRY.pack_into(
            self._entries, self._entries_end, kind, layout, ended, number, subscribers, time, rows, at, len(data)
        )
        if not self.rows:
            self.earliest = self.latest = time
        elif time > self.latest:
            self.latest = time
        elif time < self.earliest:
            self.earliest = time
        self._entries_end += ENTRY_OCTETS
        self.rows += rows

    def encoded(self, records: Sequence[Record]) -> bytes:
        """The octets of an entry of layout `RECORDS`."""
        return self._encode(records)

    def finish(self, first: int) -> Sequence[Octets]:
        """Return the frame whose first row has this offset, in pieces that are its own memory until `clear`."""
        lists = self._encode(Lists(list(self._clients), list(self._outcomes)))
        entries = memoryview(self._entries)[: self._entries_end]
        body = (entries, lists, self._blob[: self._blob_end])
        header = Header(
            schema=SCHEMA_VERSION,
            shard=self._shard,
            body_octets=sum(map(len, body)),
            entries=self._entries_end // ENTRY_OCTETS,
            lists_octets=len(lists),
            rows=self.rows,
            first=first,
            boot=self._boot,
            earliest=self.earliest,
            latest=self.latest,
            body_crc=crc_of(body),
        )
        return (encode_header(header), *body)

    def clear(self) -> None:
        """Begin anew. Nothing of what `finish` returned may be in use any more."""
        self.rows = self._entries_end = self._blob_end = 0
        self._clients, self._outcomes = {}, {}
        if len(self._blob) > self._usual_octets:
            self._blob = memoryview(bytearray(self._usual_octets))
