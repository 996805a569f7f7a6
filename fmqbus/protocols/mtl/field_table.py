"""What do the properties of a content say? (MTL, Field Encodings: "to be defined"; reading 32)

A field table as AMQP 0-9-1 has it: entries of a short string, an octet for the type, and a value. The broker hands it
on as it came, and looks into it only where a filter or another protocol wants to know something. So it is read then,
and what lies within it only when it is asked for in its turn: nesting costs nobody anything who does not follow it.

Where AMQP's specification and its implementations differ in what a type is (``s``, ``l``, ``L``), the implementations
are followed, as by everybody who reads such tables. No library reads them with bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import DEFAULT_LIMITS, Limits

#: A value as Python has it. Tables and arrays are a `FieldTable` and a `FieldArray`; octets (``x``) and long strings
#: that are no UTF-8 are octets; a time that no calendar has is the number of its seconds.
Value = Any

_LENGTH = struct.Struct(">I")
_DECIMAL = struct.Struct(">Bi")
_TIME = struct.Struct(">Q")
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FieldTable(Mapping[str, Value]):
    """The entries of a table, read when somebody first asks. Raises `PeerError` with reason ``table`` at any question
    if they are no table, are more than `Limits.table_fields`, or lie deeper than `Limits.table_depth`.

    Of several entries with one name the last counts, as for those who will get the content and make a dictionary of it.
    """

    __slots__ = ("_depth", "_fields", "_limits", "octets")

    def __init__(self, octets: bytes, limits: Limits = DEFAULT_LIMITS, depth: int = 1) -> None:
        """`octets` are the entries, without the length before them; `depth` counts the tables around them."""
        self.octets = octets
        self._limits = limits
        self._depth = depth
        self._fields: dict[str, Value] | None = None

    @property
    def fields(self) -> Mapping[str, Value]:
        """All of them."""
        if self._fields is None:
            self._fields = dict(_entries(self.octets, self._limits, self._depth))
        return self._fields

    def __getitem__(self, name: str) -> Value:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)


class FieldArray(Sequence[Value]):
    """The values of an array; as `FieldTable`."""

    __slots__ = ("_depth", "_limits", "_values", "octets")

    def __init__(self, octets: bytes, limits: Limits = DEFAULT_LIMITS, depth: int = 1) -> None:
        self.octets = octets
        self._limits = limits
        self._depth = depth
        self._values: list[Value] | None = None

    @property
    def values(self) -> Sequence[Value]:
        """All of them."""
        if self._values is None:
            self._values = list(_values(self.octets, self._limits, self._depth))
        return self._values

    def __getitem__(self, at: Any) -> Any:
        return self.values[at]

    def __len__(self) -> int:
        return len(self.values)


# reading


def _wrong(detail: str) -> PeerError:
    return PeerError(detail, "table")


def _entries(octets: bytes, limits: Limits, depth: int) -> Iterator[tuple[str, Value]]:
    _check_depth(limits, depth)
    at = count = 0
    while at < len(octets):
        count = _count_one(count, limits)
        name_end = at + 1 + octets[at]
        if name_end >= len(octets):
            raise _wrong("a field ends before its value")
        name = octets[at + 1 : name_end].decode("utf-8", "replace")
        value, at = _value(octets, name_end, limits, depth)
        yield name, value


def _values(octets: bytes, limits: Limits, depth: int) -> Iterator[Value]:
    _check_depth(limits, depth)
    at = count = 0
    while at < len(octets):
        count = _count_one(count, limits)
        value, at = _value(octets, at, limits, depth)
        yield value


def _check_depth(limits: Limits, depth: int) -> None:
    if depth > limits.table_depth:
        raise _wrong(f"tables {depth} deep, at most {limits.table_depth}")


def _count_one(count: int, limits: Limits) -> int:
    if count >= limits.table_fields:
        raise _wrong(f"more than {limits.table_fields} fields")
    return count + 1


def _value(octets: bytes, at: int, limits: Limits, depth: int) -> tuple[Value, int]:
    """The value whose type is at a place, and where it ends."""
    kind = octets[at]
    at += 1
    number = _NUMBERS.get(kind)
    try:
        if number is not None:
            return number.unpack_from(octets, at)[0], at + number.size
        read = _SIZED.get(kind)
        if read is not None:
            (length,) = _LENGTH.unpack_from(octets, at)
            at += _LENGTH.size
            if length > len(octets) - at:
                raise _wrong(f"a value of {length} octets, of which {len(octets) - at} are there")
            return read(octets[at : at + length], limits, depth + 1), at + length
        match kind:
            case 0x44:  # D
                scale, digits = _DECIMAL.unpack_from(octets, at)
                return Decimal(digits).scaleb(-scale), at + _DECIMAL.size
            case 0x54:  # T
                return _time(_TIME.unpack_from(octets, at)[0]), at + _TIME.size
            case 0x56:  # V
                return None, at
    except struct.error:
        raise _wrong("a value ends too early") from None
    raise _wrong(f"type {bytes((kind,))!r}")


def _time(seconds: int) -> datetime | int:
    try:
        return _UNIX_EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        return seconds


def _text(octets: bytes, limits: Limits, depth: int) -> str | bytes:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets


#: ``t`` and the numbers of fixed length.
_NUMBERS = {
    ord(kind): struct.Struct(">" + form)
    for kind, form in {
        "t": "?",
        "b": "b",
        "B": "B",
        "s": "h",
        "U": "h",
        "u": "H",
        "I": "i",
        "i": "I",
        "l": "q",
        "L": "q",
        "f": "f",
        "d": "d",
    }.items()
}
#: With their length in four octets before them.
_SIZED: Mapping[int, Callable[[bytes, Limits, int], Value]] = {
    ord("S"): _text,
    ord("x"): lambda octets, limits, depth: octets,
    ord("F"): FieldTable,
    ord("A"): FieldArray,
}


# writing


def write_table(fields: Mapping[str, Value]) -> bytes:
    """The entries of a table, without their length. Raises `LocalError` for a name of more than 255 octets, a value
    that none of the types can hold, and what is nested deeper than others read."""
    return b"".join(_write_name(name) + _write_value(value, 1) for name, value in fields.items())


def _write_name(name: str) -> bytes:
    octets = name.encode()
    if len(octets) > 0xFF:
        raise LocalError(f"a field's name of {len(octets)} octets, at most 255")
    return bytes((len(octets),)) + octets


def _write_value(value: Value, depth: int) -> bytes:
    if depth > DEFAULT_LIMITS.table_depth:
        raise LocalError(f"tables {depth} deep")
    try:
        match value:
            case None:
                return b"V"
            case bool():
                return b"t\x01" if value else b"t\x00"
            case int():
                return b"l" + _NUMBERS[ord("l")].pack(value)
            case float():
                return b"d" + _NUMBERS[ord("d")].pack(value)
            case str():
                return _sized(b"S", value.encode())
            case bytes():
                return _sized(b"x", value)
            case datetime():
                return b"T" + _TIME.pack(int(value.timestamp()))
            case FieldTable() | FieldArray():
                return _sized(b"F" if isinstance(value, FieldTable) else b"A", value.octets)
            case Mapping():
                inner = (_write_name(name) + _write_value(item, depth + 1) for name, item in value.items())
                return _sized(b"F", b"".join(inner))
            case Sequence():
                return _sized(b"A", b"".join(_write_value(item, depth + 1) for item in value))
    except (struct.error, UnicodeEncodeError) as error:
        raise LocalError(f"{value!r} has no place in a field table: {error}") from None
    raise LocalError(f"{type(value).__name__} has no place in a field table")


def _sized(kind: bytes, octets: bytes) -> bytes:
    return kind + _LENGTH.pack(len(octets)) + octets
