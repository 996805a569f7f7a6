"""What does a handshake look like? Octets to `Handshake` and back. (MicroMsg2, Handshake)

``major(1) minor(1) flags(1) identity-length(1) identity required-length(2) required optional-length(2) optional``, the
same in both directions; lengths are big-endian. What is to be answered is the business of
`fmqbus.protocols.micromsg2.negotiation`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import attrs

from fmqbus.errors import PeerError
from fmqbus.protocols.micromsg2.fields import Pairs, parse_pairs, to_octets, to_text, write_pairs

_LENGTH = struct.Struct(">H")
_HEAD_OCTETS = 4
MAX_IDENTITY_OCTETS = 0xFF
MAX_LIST_OCTETS = 0xFFFF

#: An EXTENSION frame tells the extension in one octet, and 0 is none (MicroMsg2, EXTENSION frame).
MAX_EXTENSIONS = 0xFF
#: Of all extensions in a list together; each is kept as long as the connection lasts.
MAX_PROPERTIES = 0xFF


@attrs.frozen(slots=True)
class Entry:
    """An extension as a list in a handshake names it."""

    #: In lower case (reading 10).
    name: str
    properties: Pairs = ()


Entries = tuple[Entry, ...]


@attrs.frozen(slots=True, kw_only=True)
class Handshake:
    """One of the three steps. Its flags have no meaning yet: ignored on reading and written as zero (reading 4)."""

    major: int = 1
    minor: int = 0
    #: Opaque; may be empty (reading 5).
    identity: bytes = b""
    required: Entries = ()
    optional: Entries = ()


def encode(handshake: Handshake) -> bytes:
    """Return the octets of a handshake. Raises `PeerError` where a list has become too long to be written, which
    happens only to one that repeats what the other side has written."""
    required, optional = write_entries(handshake.required), write_entries(handshake.optional)
    if max(len(required), len(optional)) > MAX_LIST_OCTETS:
        raise PeerError("too much to negotiate", "extensions")
    return b"".join(
        (
            bytes((handshake.major, handshake.minor, 0, len(handshake.identity))),
            handshake.identity,
            _LENGTH.pack(len(required)),
            required,
            _LENGTH.pack(len(optional)),
            optional,
        )
    )


def decode(octets: bytes | bytearray) -> tuple[Handshake, int] | None:
    """Return the handshake at the beginning and where it ends; None while it is not whole. Raises `PeerError` for a
    list that is too long to be numbered."""
    if len(octets) < _HEAD_OCTETS:
        return None
    major, minor, _flags, identity_octets = octets[:_HEAD_OCTETS]
    required_at = _HEAD_OCTETS + identity_octets + _LENGTH.size
    required_end = _end_of(octets, required_at)
    optional_at = required_end + _LENGTH.size
    optional_end = _end_of(octets, optional_at)
    if optional_end > len(octets):
        return None
    handshake = Handshake(
        major=major,
        minor=minor,
        identity=bytes(octets[_HEAD_OCTETS : required_at - _LENGTH.size]),
        required=parse_entries(to_text(bytes(octets[required_at:required_end]))),
        optional=parse_entries(to_text(bytes(octets[optional_at:optional_end]))),
    )
    return handshake, optional_end


def _end_of(octets: bytes | bytearray, at: int) -> int:
    """Where the field ends that begins at `at`, right behind its length; past all octets if that is not there yet."""
    return at + (_LENGTH.unpack_from(octets, at - _LENGTH.size)[0] if at <= len(octets) else 0)


def parse_entries(text: str) -> Entries:
    """Read ``name;name:k=v,k=v``; empty entries are skipped (reading 7). Raises `PeerError` for too many, or for
    too many properties."""
    if text.count(";") > MAX_EXTENSIONS:
        raise PeerError(f"more than {MAX_EXTENSIONS} extensions", "extensions")
    if text.count(",") > MAX_PROPERTIES:
        raise PeerError(f"more than {MAX_PROPERTIES} properties", "extensions")
    return tuple(_parse_entry(entry) for entry in text.split(";") if entry)


def write_entries(entries: Iterable[Entry]) -> bytes:
    """Write a list, without a semicolon at its end (reading 7)."""
    return to_octets(";".join(map(_write_entry, entries)))


def _parse_entry(text: str) -> Entry:
    name, _, properties = text.partition(":")
    return Entry(name.strip().lower(), parse_pairs(properties))


def _write_entry(entry: Entry) -> str:
    return f"{entry.name}:{write_pairs(entry.properties)}" if entry.properties else entry.name
