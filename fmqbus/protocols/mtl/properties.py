"""How do the properties of a content cross to the rest of the bus and back? (MTL, Sending Content; reading 32)

On the wire they are a field table; to the bus, text by name. Of a table the bus sees what is a single value: text as it
is, numbers as digits, yes and no as ``true`` and ``false``. So that one who gets the message by this protocol gets the
table just as it was written, even out of a store, it also travels as it came, under a name that cannot come by the
wire: what has a colon in its name is left out. A table that cannot be read is handed on, and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import attrs

from fmqbus.errors import LocalError, PeerError
from fmqbus.model import AS_TABLE, NO_PROPERTIES, PLAIN_TERMS, Message, StoredMessage, Terms, readable
from fmqbus.protocols.mtl.field_table import FieldTable, write_table

#: What clients ask of the bus by a content's properties, and are told by them; the text has no words for this.
RETAIN, PRIORITY, TIME_TO_LIVE, DELAY = "retain", "priority", "ttl", "delay"
REDELIVERED, DELIVERIES = "redelivered", "deliveries"

#: A table is part of a header; nobody has to read a longer one (`Limits.control_octets` as it usually is, and room for
#: the rest of the header).
MOST_OCTETS = 63 * 1024

_TRUE, _FALSE = "true", "false"
_RETAINED = write_table({RETAIN: True})


class TableProperties(Mapping[str, str]):
    """The properties of a message that came by this protocol. They are read when somebody first asks."""

    __slots__ = ("_texts", "octets")

    def __init__(self, octets: bytes) -> None:
        """`octets` are the entries of a field table."""
        self.octets = octets
        self._texts: dict[str, str] | None = None

    @property
    def texts(self) -> Mapping[str, str]:
        """Those that the rest of the bus sees, by name."""
        if self._texts is None:
            self._texts = _texts(self.octets)
        return self._texts

    def __getitem__(self, name: str) -> str:
        return self.octets.decode("latin-1") if name == AS_TABLE else self.texts[name]

    def __iter__(self) -> Iterator[str]:
        yield AS_TABLE
        yield from self.texts

    def __len__(self) -> int:
        return 1 + len(self.texts)


def to_bus(octets: bytes) -> Mapping[str, str]:
    """The properties that a content brought, for the rest of the bus."""
    return TableProperties(octets) if octets else NO_PROPERTIES


def to_keep(octets: bytes) -> Mapping[str, str]:
    """The same for a message that may have to wait among a million others: one dict of text."""
    return dict(TableProperties(octets)) if octets else NO_PROPERTIES


def from_bus(properties: Mapping[str, str]) -> bytes:
    """The entries of a table: just as they came, if they came by this protocol, and behind them what the bus has added;
    else all as text, as many as there is room for."""
    if not properties:
        return b""
    if isinstance(properties, TableProperties):
        return properties.octets
    octets = properties.get(AS_TABLE, "").encode("latin-1", "replace")
    said = _texts(octets) if octets else {}
    return _with(octets, {name: text for name, text in readable(properties).items() if said.get(name) != text})


def table_of(message: Message) -> bytes:
    """The table of a message; a kept value has ``retain``."""
    octets = from_bus(message.properties)
    if message.retain and (not octets or RETAIN not in _texts(octets)):
        return octets + _RETAINED
    return octets


def delivery_table(stored: StoredMessage) -> bytes:
    """The table of a queue's message; one that was handed out before says so, and how often by now."""
    octets = from_bus(stored.message.properties)
    if stored.is_redelivered or stored.deliveries > 1:
        octets += write_table({REDELIVERED: True, DELIVERIES: stored.deliveries})
    return octets


def is_retained(octets: bytes) -> bool:
    """The content is to become the kept value of its topic."""
    return bool(octets) and _fields(octets).get(RETAIN) is True


def terms_of(octets: bytes) -> Terms:
    """What is asked of a queue. A value that cannot be meant asks for nothing: it may be the application's own."""
    terms = PLAIN_TERMS
    if not octets:
        return terms
    fields = _fields(octets)
    for name, term, kinds in _TERMS:
        value = fields.get(name)
        if isinstance(value, kinds) and not isinstance(value, bool):
            with suppress(LocalError):
                terms = attrs.evolve(terms, **{term: value})
    return terms


_TERMS: tuple[tuple[str, str, Any], ...] = (
    (PRIORITY, "priority", int),
    (TIME_TO_LIVE, "time_to_live", int | float),
    (DELAY, "delay", int | float),
)


def _fields(octets: bytes) -> Mapping[str, Any]:
    try:
        return FieldTable(octets).fields
    except PeerError:
        return {}


def _texts(octets: bytes) -> dict[str, str]:
    texts = {}
    for name, value in _fields(octets).items():
        if ":" in name:
            continue
        match value:
            case bool():
                texts[name] = _TRUE if value else _FALSE
            case str():
                texts[name] = value
            case int() | float() | Decimal():
                texts[name] = str(value)
    return texts


def _with(octets: bytes, texts: Mapping[str, str]) -> bytes:
    entries = [octets]
    room = MOST_OCTETS - len(octets)
    for name, text in texts.items():
        try:
            entry = write_table({name: text})
        except LocalError:
            continue
        room -= len(entry)
        if room < 0:
            break
        entries.append(entry)
    return b"".join(entries)
