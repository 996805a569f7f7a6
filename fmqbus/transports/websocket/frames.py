"""WebSocket frames: which of those that come need no thought, and how ours are written. No I/O. (RFC 6455, section 5)

Nearly all that clients send are short messages, each in one frame. To take such a frame from a read costs a tenth of
what a parser needs that must be ready for everything; so these are taken here, and all others left to that parser.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_LENGTH_16 = struct.Struct("!H")
_LENGTH_64 = struct.Struct("!Q")
_HEADER_16 = struct.Struct("!BBH")
_HEADER_64 = struct.Struct("!BBQ")

#: Opcodes (5.2), and the bits beside them in a frame's first octet.
CONTINUATION, TEXT, BINARY, PING = 0, 1, 2, 9
FINAL = 0x80
COMPRESSED = 0x40
#: The bit beside the length.
MASKED = 0x80

#: Of a frame that is a message by itself and is not compressed.
WHOLE_TEXT = FINAL | TEXT
WHOLE_BINARY = FINAL | BINARY


def bounds(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the payload of the frame that begins at `at` begins, and where it ends, which may be behind `data`. None
    where even the header is not complete."""
    if len(data) < at + 2:
        return None
    second = data[at + 1]
    start = at + 2
    length = second & 0x7F
    if length >= 126:
        form = _LENGTH_16 if length == 126 else _LENGTH_64
        if len(data) < start + form.size:
            return None
        (length,) = form.unpack_from(data, start)
        start += form.size
    if second & MASKED:
        start += 4
    return start, start + length


def is_plain(data: bytes, at: int, start: int, end: int) -> bool:
    """A message in one masked frame, not compressed, of a length that is written as shortly as it can be. By these
    bounds its header has six or eight octets; one without a mask would have two, four or ten."""
    return (data[at] == WHOLE_TEXT or data[at] == WHOLE_BINARY) and (
        start - at == 6 or (start - at == 8 and end - start > 125)
    )


def unmasked(data: bytes, start: int, end: int) -> bytes:
    """The payload that is masked by the four octets before it (5.3)."""
    length = end - start
    mask = data[start - 4 : start] * (length // 4 + 1)
    masked = int.from_bytes(data[start:end], "little")
    return (masked ^ int.from_bytes(mask[:length], "little")).to_bytes(length, "little")


def frame(first: int, payload: bytes) -> bytes:
    """A frame of ours, with this first octet; it is not masked."""
    length = len(payload)
    if length < 126:
        return bytes((first, length)) + payload
    if length < 0x10000:
        return _HEADER_16.pack(first, 126, length) + payload
    return _HEADER_64.pack(first, 127, length) + payload


def fragments(opcode: int, payload: bytes, most: int) -> Iterator[bytes]:
    """A message in frames of at most so many octets each; control frames may go between them (5.4)."""
    for at in range(0, len(payload), most):
        is_final = at + most >= len(payload)
        yield frame((FINAL if is_final else 0) | (CONTINUATION if at else opcode), payload[at : at + most])
