"""What do the properties of a message say? (MicroMsg2, MESSAGE frame, Filters)

On the wire they are ``name:value;name:value``. A value is a FILTER_VALUE: ``N`` or ``D`` and a number, ``T`` and text;
anything else is text without a type (reading 51). To the rest of the bus a property is its text alone. So that one
who gets the message by this protocol gets the properties exactly as they were written (reading 50), even out of a
store, they also travel as they were, under a name that cannot be on the wire: a colon parts name and value, so no
property has one in its name, and what extensions add (``extension:name``) is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import quote, unquote

from fmqbus.model import AS_WRITTEN, NO_PROPERTIES
from fmqbus.protocols.micromsg2.frames import MAX_PROPERTIES_OCTETS

#: Tells a consumer how often, at least, a message was handed out before.
REDELIVERED = "redelivered"

_NAME = re.compile(r"[A-Za-z0-9_-]+")
#: No exponent, no infinity: what they look like is text.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


class Value(NamedTuple):
    """What one property says."""

    #: Without its type.
    text: str
    #: Numbers and dates, which compare as numbers (reading 62); None for text.
    number: Decimal | None = None


def parse_value(written: str) -> Value:
    """Read a FILTER_VALUE. So ``Tom`` is the text ``om``, unavoidably (reading 51)."""
    kind, rest = written[:1], written[1:]
    if kind in ("N", "D") and _NUMBER.fullmatch(rest):
        return Value(rest, Decimal(rest))
    return Value(unquote(rest if kind == "T" else written))


def write_value(text: str) -> str:
    """Write what came from elsewhere as a FILTER_VALUE: what looks like a number is one."""
    return f"N{text}" if _NUMBER.fullmatch(text) else f"T{quote(text, safe='')}"


class WrittenProperties(Mapping[str, str]):
    """The properties of a message that came by this protocol. Their text is read when somebody first asks."""

    __slots__ = ("_annotations", "_values", "written")

    def __init__(self, written: bytes, annotations: Mapping[str, str] = NO_PROPERTIES) -> None:
        self.written = written
        self._annotations = annotations
        self._values: dict[str, Value] | None = None

    @property
    def values_by_name(self) -> Mapping[str, Value]:
        """What they say, by name in lower case."""
        if self._values is None:
            self._values = _parse(self.written)
        return self._values

    def __getitem__(self, name: str) -> str:
        if name == AS_WRITTEN:
            return _text_of(self.written)
        value = self.values_by_name.get(name)
        return self._annotations[name] if value is None else value.text

    def __iter__(self) -> Iterator[str]:
        yield AS_WRITTEN
        yield from self.values_by_name
        yield from self._annotations

    def __len__(self) -> int:
        return 1 + len(self.values_by_name) + len(self._annotations)


def to_bus(written: bytes, annotations: Mapping[str, str] = NO_PROPERTIES) -> Mapping[str, str]:
    """The properties that a message brought, and what extensions know of it, for the rest of the bus."""
    return WrittenProperties(written, annotations) if written else annotations


def to_keep(written: bytes, annotations: Mapping[str, str] = NO_PROPERTIES) -> Mapping[str, str]:
    """The same for a message that may have to wait among a million others: one dict of text, which the garbage
    collector need not look at. It would take a second for all of them."""
    return dict(to_bus(written, annotations)) if written else annotations


def from_bus(properties: Mapping[str, str]) -> bytes:
    """Properties as they are written: just as they came, if they came by this protocol and the bus has changed none.
    Otherwise those that have a place here, whose names are letters, digits, hyphen and underscore, as many as there is
    room for."""
    if not properties:
        return b""
    if isinstance(properties, WrittenProperties):
        return properties.written
    said = {name: text for name, text in properties.items() if ":" not in name}
    if AS_WRITTEN in properties:
        written = _octets_of(properties[AS_WRITTEN])
        if said == {name: value.text for name, value in _parse(written).items()}:
            return written[:MAX_PROPERTIES_OCTETS]
    entries: list[str] = []
    room = MAX_PROPERTIES_OCTETS
    for name, text in said.items():
        if _NAME.fullmatch(name):
            entry = f"{name}:{write_value(text)}"
            room -= len(entry) + 1
            if room < 0:
                break
            entries.append(entry)
    return ";".join(entries).encode()


def marked(properties: Mapping[str, str], name: str, text: str) -> Mapping[str, str]:
    """Properties with one more before them, which only the one who gets the message sees."""
    written = f"{name}:{write_value(text)}".encode()
    if former := from_bus(properties):
        written = (written + b";" + former)[:MAX_PROPERTIES_OCTETS]
    return WrittenProperties(written, properties)


def values_of(properties: Mapping[str, str]) -> Mapping[str, Value]:
    """What properties say, wherever they came from, by name in lower case: what filters look at."""
    if isinstance(properties, WrittenProperties):
        return properties.values_by_name
    return _parse(from_bus(properties))


def _text_of(written: bytes) -> str:
    """Any octets as text that every store can keep."""
    return written.decode("latin-1")


def _octets_of(text: str) -> bytes:
    """Undo `_text_of`."""
    return text.encode("latin-1", "replace")


def _parse(written: bytes) -> dict[str, Value]:
    """Of several with one name, the first counts: what the bus marks stands in front of what a client wrote."""
    written_last_first = reversed(written.decode("utf-8", "replace").split(";"))
    entries = (entry.partition(":") for entry in written_last_first if entry)
    return {name.lower(): parse_value(value) for name, _, value in entries}
