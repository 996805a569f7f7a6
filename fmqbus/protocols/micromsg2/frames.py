"""What do messages look like on the wire, on their way through the bus? (MicroMsg2, Frame prefix, MESSAGE frame)

A MESSAGE frame, which from a client is called SEND, is ``flags(1) number(2) destination-length(1) destination
properties-length(2) properties payload-length(1 or 4) payload``. All of it but the number is the same for all who get
the message. So `Frames` keeps each frame in four pieces: flags, number, head, payload. A receiver's numbers are put in
by slice assignment, between the pieces; or, where all frames have the same size, as in most runs, in a copy of their
octets, column by column, which takes a fifth of the time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fmqbus.errors import LocalError
from fmqbus.limits import MIB
from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.micromsg2 import numbers

COMMAND = 1
EXTENSION = 2
ERROR = 4
LARGE_PAYLOAD = 8
CONTINUED = 16

MAX_DESTINATION_OCTETS = 0xFF
MAX_PROPERTIES_OCTETS = 0xFFFF
#: A payload above this takes several frames (readings 47 and 48).
FRAME_PAYLOAD_OCTETS = MIB

_SHORT_PAYLOAD_OCTETS = 0xFF
_PIECES = 4
_LENGTH = struct.Struct(">H")
#: A flags octet as it is written.
FLAGS = [bytes([flags]) for flags in range(0x20)]
_NO_NUMBER = b"\0\0"
_NO_DESTINATION_AND_NO_PROPERTIES = b"\0\0\0"


class Received(NamedTuple):
    """A whole message."""

    #: Of its last frame: who acknowledges it acknowledges all.
    number: int
    destination: bytes
    #: As written; see `fmqbus.protocols.micromsg2.properties`.
    properties: bytes
    payload: bytes
    #: What extensions know of it, as ``extension:name``.
    annotations: Mapping[str, str] = NO_PROPERTIES


class Frames:
    """MESSAGE frames, one after the other. Treat as immutable."""

    __slots__ = ("_octets", "_unnumbered", "pieces")

    def __init__(self, pieces: list[bytes], octets: int) -> None:
        #: Flags, number, head and payload of each frame. The numbers are those of whoever sent them, if anybody did.
        self.pieces = pieces
        self._octets = octets
        #: All octets, if the frames have the same size; else none. Made when first needed.
        self._unnumbered: bytes | None = None

    @classmethod
    def of(cls, messages: Iterable[tuple[bytes, bytes, bytes]]) -> Frames:
        """The frames of messages given as destination, properties and payload; a large payload is split (reading 47).
        Raises `LocalError` for a destination or properties that are too long."""
        pieces: list[bytes] = []
        known: tuple[bytes, bytes] | None = None
        head = b""
        for destination, properties, payload in messages:
            if (destination, properties) != known:
                known, head = (destination, properties), _head(destination, properties)
            octets = len(payload)
            if octets > FRAME_PAYLOAD_OCTETS:
                _split(pieces, head, payload)
            elif octets > _SHORT_PAYLOAD_OCTETS:
                pieces += (FLAGS[LARGE_PAYLOAD], _NO_NUMBER, head + octets.to_bytes(4, "big"), payload)
            else:
                pieces += (FLAGS[0], _NO_NUMBER, head + octets.to_bytes(1, "big"), payload)
        return cls(pieces, sum(map(len, pieces)))

    @classmethod
    def joined(cls, several: Sequence[Frames]) -> Frames:
        """The frames of several, one after the other; those of one are itself."""
        if len(several) == 1:
            return several[0]
        pieces: list[bytes] = []
        octets = 0
        for frames in several:
            pieces += frames.pieces
            octets += len(frames)
        return cls(pieces, octets)

    def __len__(self) -> int:
        """How many octets they have on the wire."""
        return self._octets

    @property
    def count(self) -> int:
        """How many frames there are."""
        return len(self.pieces) // _PIECES

    @property
    def ends(self) -> list[int]:
        """Which of them are the last of a message."""
        return [at for at, flags in enumerate(self.pieces[::_PIECES]) if not flags[0] & CONTINUED]

    @property
    def last_number(self) -> int:
        """The number under which the last one came."""
        return int.from_bytes(self.pieces[1 - _PIECES], "big")

    @property
    def heads(self) -> set[bytes]:
        """Their heads, each once: destination, properties, and how long the payload is."""
        return set(self.pieces[2::_PIECES])

    def numbered(self, first: int, start: int, stop: int) -> bytes:
        """The frames from `start` to `stop` as they are written, the first of them under this number."""
        if self._unnumbered is None:
            self._unnumbered = b"".join(self.pieces) if self._are_of_one_size() else b""
        if self._unnumbered:
            size = len(self._unnumbered) // self.count
            octets = bytearray(self._unnumbered[start * size : stop * size])
            octets[1::size], octets[2::size] = numbers.columns_of(first, stop - start)
            return bytes(octets)
        pieces = self.pieces[start * _PIECES : stop * _PIECES]
        pieces[1::_PIECES] = numbers.octets_of(first, stop - start)
        return b"".join(pieces)

    def _are_of_one_size(self) -> bool:
        return self.count > 1 and all(len(set(map(len, self.pieces[piece::_PIECES]))) == 1 for piece in (2, 3))

    def __iter__(self) -> Iterator[Received]:
        """The messages: what was split is joined, with the destination and the properties of its first frame (reading
        45)."""
        piece = iter(self.pieces)
        known_head = b""
        destination = properties = b""
        parts: list[bytes] = []
        for flags, number, head, payload in zip(piece, piece, piece, piece, strict=True):
            if head is not known_head and not parts:
                known_head, destination, properties = head, *parse_head(head)
            if flags[0] & CONTINUED:
                parts.append(payload)
                continue
            if parts:
                payload, parts = b"".join((*parts, payload)), []
                known_head = b""
            yield Received(int.from_bytes(number, "big"), destination, properties, payload)


def _head(destination: bytes, properties: bytes) -> bytes:
    if len(destination) > MAX_DESTINATION_OCTETS or len(properties) > MAX_PROPERTIES_OCTETS:
        raise LocalError("a destination or properties are too long for a frame")
    return b"%c%b%b%b" % (len(destination), destination, _LENGTH.pack(len(properties)), properties)


def _split(pieces: list[bytes], head: bytes, payload: bytes) -> None:
    """Every frame has a head of its own; that of the first one counts (reading 45)."""
    for at in range(0, len(payload), FRAME_PAYLOAD_OCTETS):
        part = payload[at : at + FRAME_PAYLOAD_OCTETS]
        is_last = at + FRAME_PAYLOAD_OCTETS >= len(payload)
        flags = LARGE_PAYLOAD if is_last else LARGE_PAYLOAD | CONTINUED
        pieces += (FLAGS[flags], _NO_NUMBER, head + len(part).to_bytes(4, "big"), part)
        head = _NO_DESTINATION_AND_NO_PROPERTIES


def parse_head(head: bytes) -> tuple[bytes, bytes]:
    """Destination and properties."""
    destination_end = 1 + head[0]
    properties_at = destination_end + _LENGTH.size
    (properties_octets,) = _LENGTH.unpack_from(head, destination_end)
    return head[1:destination_end], head[properties_at : properties_at + properties_octets]


def encode_control(flags: int, payload: bytes, index: bytes = b"") -> list[bytes]:
    """A frame without a number; `index` is that of an EXTENSION. The four-octet length is written only where it has to
    be (reading 35)."""
    octets = len(payload)
    if octets > _SHORT_PAYLOAD_OCTETS:
        return [FLAGS[flags | LARGE_PAYLOAD], index, octets.to_bytes(4, "big"), payload]
    return [FLAGS[flags], index, octets.to_bytes(1, "big"), payload]
