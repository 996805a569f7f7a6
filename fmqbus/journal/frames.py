"""What does a log look like? Frames, one behind the other and nothing between. Sans-I/O: octets to headers and back.

A frame is what one group commit has written. It can be read alone: a segment is a file of frames, a range of a log is a
range of frames, and a server can send any of them as they are.

===============  ======  ===========================================================================
header           octets  what it is (integers are little-endian)
===============  ======  ===========================================================================
magic            4       ``FMQJ``
format           2       version of all this; a reader refuses a higher one
header octets    2       72; a later format may add to the header, behind all this
schema           2       `SCHEMA_VERSION` of the rows; a reader takes what it knows of a higher one
codec            2       0: the body is not compressed
shard            4       which log this is of
body octets      4       what follows the header
entries          4       32 octets each, at the beginning of the body, see `fmqbus.journal.entries`
lists octets     4       behind the entries: what they name by number
rows             4       how many rows the entries stand for
first            8       offset of the first row
boot             8       when the writing process began, in POSIX microseconds
earliest         8       lowest time of a row, in POSIX microseconds
latest           8       highest
body CRC         4       CRC-32 of the body, as zlib has it
header CRC       4       of all this before
===============  ======  ===========================================================================
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import attrs

from fmqbus.journal.errors import DamagedFrame, NewerFormat
from fmqbus.limits import MIB

try:
    from isal.isal_zlib import crc32  # the same sum, several times faster
except ImportError:
    from zlib import crc32

MAGIC = b"FMQJ"
FORMAT_VERSION = 1
_HEADER = struct.Struct("<4sHHHHIIIIIqqqqI")
_CRC = struct.Struct("<I")
HEADER_OCTETS = _HEADER.size + _CRC.size

#: No frame is longer than the longest message with what belongs to it; a length beyond this is damage.
MAX_BODY_OCTETS = 1024 * MIB

Octets = bytes | bytearray | memoryview


@attrs.frozen(slots=True)
class Header:
    """The header of one frame."""

    schema: int
    shard: int
    body_octets: int
    entries: int
    lists_octets: int
    rows: int
    first: int
    boot: int
    earliest: int
    latest: int
    body_crc: int

    @property
    def end(self) -> int:
        """The offset after the last row."""
        return self.first + self.rows

    @property
    def frame_octets(self) -> int:
        """Header and body."""
        return HEADER_OCTETS + self.body_octets


def encode_header(header: Header) -> bytes:
    """Return the octets of a header."""
    octets = _HEADER.pack(
        MAGIC,
        FORMAT_VERSION,
        HEADER_OCTETS,
        header.schema,
        0,
        header.shard,
        header.body_octets,
        header.entries,
        header.lists_octets,
        header.rows,
        header.first,
        header.boot,
        header.earliest,
        header.latest,
        header.body_crc,
    )
    return octets + _CRC.pack(crc32(octets))


def parse_header(octets: Octets, position: int = 0) -> Header:
    """Return the header that stands at `position`. Raises `DamagedFrame`, with `position`, and `NewerFormat`."""
    if len(octets) - position < HEADER_OCTETS:
        raise DamagedFrame("the header is cut off", position)
    magic, version, _, schema, codec, *rest = _HEADER.unpack_from(octets, position)
    (crc,) = _CRC.unpack_from(octets, position + _HEADER.size)
    if magic != MAGIC:
        raise DamagedFrame("no frame begins here", position)
    if crc != crc32(memoryview(octets)[position : position + _HEADER.size]):
        raise DamagedFrame("the header is not as it was written", position)
    if version > FORMAT_VERSION or codec:
        raise NewerFormat(
            f"the frame at {position} has format {version} and codec {codec}; this fmqbus knows format "
            f"{FORMAT_VERSION} and codec 0: read it with the fmqbus that wrote it, or a later one"
        )
    return Header(schema, *rest)


def check_body(header: Header, body: Octets, position: int = 0) -> None:
    """Raises `DamagedFrame` if `body` is not what the header was written for."""
    if len(body) != header.body_octets:
        raise DamagedFrame("the frame is cut off", position)
    if crc32(body) != header.body_crc:
        raise DamagedFrame("the body is not as it was written", position)


def scan(octets: Octets) -> Iterator[tuple[int, Header, memoryview]]:
    """Yield position, header and body of each frame, all checked. Raises as `parse_header` and `check_body` do where
    whole frames end before the octets do."""
    view = memoryview(octets)
    position = 0
    while position < len(view):
        header = parse_header(view, position)
        body = view[position + HEADER_OCTETS : position + header.frame_octets]
        check_body(header, body, position)
        yield position, header, body
        position += header.frame_octets


def crc_of(pieces: Sequence[Octets]) -> int:
    """The CRC of a body that is not in one piece."""
    crc = 0
    for piece in pieces:
        crc = crc32(piece, crc)
    return crc
