"""How is what an application says written as the properties of a content, and read from them? (docs/protocols/mtl.md)

Properties are a field table (MTL, Field Encodings). What is asked of the bus, and what it tells, has names of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import Limits
from fmqbus.model import NO_PROPERTIES, PLAIN_TERMS, Terms
from fmqbus.protocols.mtl.field_table import FieldTable, write_table
from fmqbus.protocols.mtl.short_strings import LONGEST, check_short_string

#: Of a content to a topic: the bus keeps it for later readers; of one from there: it has kept it.
RETAIN = "retain"
#: Of a content to a queue: the field that asks for a term.
_TERMS: Mapping[str, str] = {"priority": "priority", "ttl": "time_to_live", "delay": "delay"}
#: Of a content from a queue.
_REDELIVERED, _DELIVERIES = "redelivered", "deliveries"
#: What is told apart from the properties.
_TOLD = frozenset({RETAIN, _REDELIVERED, _DELIVERIES})

#: Values that have one obvious text.
_SCALARS = (str, int, float, Decimal, datetime)


def resource_name(name: str | bytes) -> bytes:
    """A resource's name as it is said. Raises `LocalError` for what is no short string, or empty."""
    octets = name.encode("utf-8", "surrogatepass") if isinstance(name, str) else name
    if not 0 < len(octets) <= LONGEST:
        raise LocalError(f"the name of a resource has 1 to {LONGEST} octets")
    try:
        return check_short_string(octets)
    except PeerError as error:
        raise LocalError(f"{name!r} is no name of a resource: {error}") from None


def publication_table(properties: Mapping[str, str], retain: bool) -> bytes:
    """The properties of a message to a topic. Raises `LocalError` for what has no place in them."""
    return write_table({**properties, RETAIN: True} if retain else properties)


def queue_table(properties: Mapping[str, str], terms: Terms) -> bytes:
    """The properties of a message to a queue; as `publication_table`."""
    asked = {
        field: value
        for field, term in _TERMS.items()
        if (value := getattr(terms, term)) != getattr(PLAIN_TERMS, term) and value is not None
    }
    return write_table({**properties, **asked})


def fields_of(octets: bytes, limits: Limits) -> Mapping[str, Any]:
    """The properties of a content that has come; none, where they are no table or beyond the limits."""
    if not octets:
        return NO_PROPERTIES
    table = FieldTable(octets, limits)
    try:
        return table.fields
    except PeerError:
        return NO_PROPERTIES


def texts_of(fields: Mapping[str, Any]) -> Mapping[str, str]:
    """Those that have a text; without those that tell something of the content."""
    if not fields:
        return NO_PROPERTIES
    return {name: _text(value) for name, value in fields.items() if isinstance(value, _SCALARS) and name not in _TOLD}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def is_retained(fields: Mapping[str, Any]) -> bool:
    """Whether the bus has kept it."""
    return fields.get(RETAIN) is True


def deliveries_of(fields: Mapping[str, Any]) -> tuple[bool, int]:
    """Whether a message of a queue was handed out before, and how often it was with this time."""
    told = fields.get(_DELIVERIES, 1)
    deliveries = told if isinstance(told, int) and told > 0 else 1
    is_redelivered = fields.get(_REDELIVERED) is True or deliveries > 1
    return is_redelivered, max(deliveries, 2) if is_redelivered else deliveries
