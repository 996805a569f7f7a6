"""What do commands on a data flow look like? (MTL, Data Command Encoding; Field Encodings)

Two parts: a header, which is a type and fields without gaps, and a body. There is no error but to be ill-formed: what
cannot be read whole and to the end of its header is dropped, for nobody could tell its sequence (readings 36 to 38).
What is well-formed and invalid shows only on a flow (`fmqbus.protocols.mtl.flow`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reject,
    Response,
    Summon,
)
from fmqbus.protocols.mtl.short_strings import LONGEST, check_short_string
from fmqbus.protocols.mtl.statuses import read_code

PARTS = 2

#: An integer, a Boolean, and the length of a field table (readings 32 and 33).
_SEQUENCE = struct.Struct(">BQ")
_NAMED = struct.Struct(">BQB")
_CONFIRM = struct.Struct(">BQB")
_REJECT = struct.Struct(">BQBB")
_TABLE_LENGTH = struct.Struct(">I")


def decode_command(parts: Sequence[bytes], limits: Limits) -> Command:
    """Read a command. Raises `PeerError` with reason ``parts``, ``type``, ``header`` (it ends too early, goes on too
    long, or is longer than `Limits.control_octets`), ``boolean``, ``text``, ``code``, or ``body``."""
    if len(parts) != PARTS:
        raise PeerError(f"{len(parts)} parts, {PARTS} are expected", "parts")
    header, body = parts
    if len(header) > limits.control_octets:
        raise PeerError(f"a header of {len(header)} octets, at most {limits.control_octets}", "header")
    if len(body) > limits.body_octets:
        raise PeerError(f"a body of {len(body)} octets, at most {limits.body_octets}", "body")
    read = _READERS.get(header[0]) if header else None
    if read is None:
        raise PeerError(f"type {header[:1]!r}", "type")
    try:
        return read(header, body)
    except struct.error:
        raise _wrong_length(header) from None


def encode_command(command: Command) -> list[bytes]:
    """The parts of a command. Raises `LocalError` for what has no place in it."""
    try:
        return _WRITERS[type(command)](command)
    except struct.error as error:
        raise LocalError(f"{command} cannot be written: {error}") from None


# reading


def _wrong_length(header: bytes) -> PeerError:
    return PeerError(f"a header of {len(header)} octets, which is not what its fields come to", "header")


def _named(header: bytes) -> tuple[int, bytes]:
    """A sequence and a short string, and nothing else."""
    _, sequence, name_octets = _NAMED.unpack_from(header)
    if len(header) != _NAMED.size + name_octets:
        raise _wrong_length(header)
    return sequence, check_short_string(header[_NAMED.size :])


def _content(header: bytes, body: bytes) -> Command:
    """What follows the sequence is mostly the same as in the content before, and is then not read again."""
    rest = header[_SEQUENCE.size :]
    resource, properties = _remembered_rest(rest) if len(rest) <= _REMEMBERED_OCTETS else _read_rest(rest)
    return Content(int.from_bytes(header[1 : _SEQUENCE.size]), resource, properties, body)


def _read_rest(rest: bytes) -> tuple[bytes, bytes]:
    """The resource, and the entries of the table, before which a header may end (reading 32)."""
    name_end = 1 + rest[0] if rest else 1
    if name_end > len(rest):
        raise _wrong_length(rest)
    resource = check_short_string(rest[1:name_end])
    if name_end == len(rest):
        return resource, b""
    (table_octets,) = _TABLE_LENGTH.unpack_from(rest, name_end)
    table_at = name_end + _TABLE_LENGTH.size
    if len(rest) != table_at + table_octets:
        raise _wrong_length(rest)
    return resource, rest[table_at:]


#: Only short ones: all together some 3 MiB at most.
_REMEMBERED_OCTETS = 256
_remembered_rest = lru_cache(4_096)(_read_rest)


def _response(header: bytes, body: bytes) -> Command:
    _, sequence = _SEQUENCE.unpack(header)
    return Response(sequence, read_code(body))


def _boolean(octet: int) -> bool:
    if octet > 1:
        raise PeerError(f"a Boolean of {octet}", "boolean")
    return octet == 1


def _confirm(header: bytes, body: bytes) -> Command:
    _, sequence, multiple = _CONFIRM.unpack(header)
    return Confirm(sequence, _boolean(multiple))


def _reject(header: bytes, body: bytes) -> Command:
    _, sequence, multiple, recycle = _REJECT.unpack(header)
    return Reject(sequence, _boolean(multiple), _boolean(recycle))


_PING, _PONG = Ping(), Pong()


def _bare(command: Command, header: bytes) -> Command:
    if len(header) != 1:
        raise _wrong_length(header)
    return command


#: Bodies that are unused have to be there, whatever is in them (reading 35).
_READERS: Mapping[int, Callable[[bytes, bytes], Command]] = {
    Lease.type: lambda header, body: Lease(*_named(header)),
    Response.type: _response,
    Summon.type: lambda header, body: Summon(*_named(header)),
    Dismiss.type: lambda header, body: Dismiss(*_named(header)),
    Content.type: _content,
    Confirm.type: _confirm,
    Reject.type: _reject,
    Ping.type: lambda header, body: _bare(_PING, header),
    Pong.type: lambda header, body: _bare(_PONG, header),
}


# writing


def _write_named(type: int, sequence: int, name: bytes) -> bytes:
    if len(name) > LONGEST:
        raise LocalError(f"a name of {len(name)} octets, at most {LONGEST}")
    return _NAMED.pack(type, sequence, len(name)) + name


def write_table_with_length(entries: bytes) -> bytes:
    """A field table as it stands in a header."""
    return _TABLE_LENGTH.pack(len(entries)) + entries


def read_table_with_length(table: bytes) -> bytes:
    """The entries of what `write_table_with_length` has made."""
    return table[_TABLE_LENGTH.size :]


def write_rest(resource: bytes, table: bytes) -> bytes:
    """What follows the sequence in the header of a content. Raises `LocalError` for a resource that is too long."""
    if len(resource) > LONGEST:
        raise LocalError(f"a name of {len(resource)} octets, at most {LONGEST}")
    return b"%c%b%b" % (len(resource), resource, table)


def write_content_header(sequence: int, rest: bytes) -> bytes:
    """The header of a content, where the rest of it is the same for many."""
    return _SEQUENCE.pack(Content.type, sequence) + rest


def _write_content(content: Content) -> list[bytes]:
    rest = write_rest(content.resource, write_table_with_length(content.properties))
    return [write_content_header(content.sequence, rest), content.body]


def _write_response(response: Response) -> list[bytes]:
    return [_SEQUENCE.pack(response.type, response.sequence), b"%d" % response.code]


def _write_addressed(command: Summon | Dismiss) -> list[bytes]:
    return [_write_named(command.type, command.sequence, command.resource), b""]


def _write_reject(reject: Reject) -> list[bytes]:
    return [_REJECT.pack(reject.type, reject.sequence, reject.multiple, reject.recycle), b""]


_WRITERS: Mapping[type[Command], Callable[..., list[bytes]]] = {
    Lease: lambda lease: [_write_named(lease.type, lease.sequence, lease.lease), b""],
    Response: _write_response,
    Summon: _write_addressed,
    Dismiss: _write_addressed,
    Content: _write_content,
    Confirm: lambda confirm: [_CONFIRM.pack(confirm.type, confirm.sequence, confirm.multiple), b""],
    Reject: _write_reject,
    Ping: lambda ping: [b"\x08", b""],
    Pong: lambda pong: [b"\x09", b""],
}
