"""What does a MicroMsg2 client or server write? Handshakes and frames by their names.

Made from the specification (MicroMsg2, Handshake, Frame prefix) and nothing of ours: the codec is under test as well.
"""

from __future__ import annotations

from collections.abc import Iterator

COMMAND, EXTENSION, ERROR, LARGE_PAYLOAD, CONTINUED = 1, 2, 4, 8, 16
MIB = 1_048_576


def handshake(
    required: bytes = b"", optional: bytes = b"", identity: bytes = b"", major: int = 1, minor: int = 0
) -> bytes:
    """Any of the three steps."""
    return bytes([major, minor, 0, len(identity)]) + identity + listed(required) + listed(optional)


def listed(entries: bytes) -> bytes:
    """A list of extensions behind its length."""
    return u16(len(entries)) + entries


def message(
    number: int, destination: bytes = b"", payload: bytes = b"", properties: bytes = b"", flags: int = 0
) -> bytes:
    """A MESSAGE, or SEND; the flag of a large payload decides on its length."""
    head = bytes([flags]) + u16(number) + bytes([len(destination)]) + destination + u16(len(properties)) + properties
    return head + length(payload, flags) + payload


def command(text: bytes, flags: int = 0) -> bytes:
    """A COMMAND."""
    return bytes([COMMAND | flags]) + length(text, flags) + text


def extension(index: int, payload: bytes, flags: int = 0) -> bytes:
    """An EXTENSION."""
    return bytes([EXTENSION | flags, index]) + length(payload, flags) + payload


def error(text: bytes, flags: int = 0) -> bytes:
    """An ERROR."""
    return bytes([ERROR | flags]) + length(text, flags) + text


def length(payload: bytes, flags: int) -> bytes:
    """One octet, or four where the flags say so."""
    return len(payload).to_bytes(4 if flags & LARGE_PAYLOAD else 1, "big")


def u16(number: int) -> bytes:
    """Two octets, big-endian."""
    return number.to_bytes(2, "big")


def split(octets: bytes) -> Iterator[bytes]:
    """Take what follows the handshake apart into its frames, each with its octets as they are. It must end with one."""
    while octets:
        flags = octets[0]
        at = 1
        if flags & EXTENSION:
            at = 2
        elif not flags & (COMMAND | ERROR):
            at = 4 + octets[3]
            at += 2 + int.from_bytes(octets[at : at + 2], "big")
        length_octets = 4 if flags & LARGE_PAYLOAD else 1
        end = at + length_octets + int.from_bytes(octets[at : at + length_octets], "big")
        assert len(octets) >= end, f"the stream ends within a frame: {octets!r}"
        yield octets[:end]
        octets = octets[end:]


def payload_of(frame: bytes) -> bytes:
    """Of a MESSAGE."""
    at = 4 + frame[3]
    at += 2 + int.from_bytes(frame[at : at + 2], "big")
    return frame[at + (4 if frame[0] & LARGE_PAYLOAD else 1) :]
