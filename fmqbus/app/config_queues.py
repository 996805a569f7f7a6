"""What may stand below ``[queues]``?

`QueueSettings` stays the one place where settings and their defaults are written down; here is what values a file may
give them. A rule inherits from ``[queues]`` whatever it does not say itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import msgspec

from fmqbus import names
from fmqbus.app.config_rules import pattern_of, said, settings_table
from fmqbus.model import QueueOverflow, QueueSettings

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Wait = Annotated[float, msgspec.Meta(ge=0, le=366 * 86_400)]

_KINDS: dict[str, Any] = {
    "max_messages": _Count,
    "max_octets": _Count,
    "overflow": QueueOverflow,
    "durable": bool,
    "time_to_live": _Wait,
    "delivery_limit": Annotated[int, msgspec.Meta(ge=0)],
    "retry_first": _Wait,
    "retry_factor": Annotated[float, msgspec.Meta(ge=1, le=100)],
    "retry_longest": _Wait,
    # Empty for none: TOML has no word for nothing.
    "dead_letter": str,
}

if TYPE_CHECKING:
    _Settings = msgspec.Struct
else:
    _Settings = settings_table(QueueSettings, _KINDS)


class QueueRule(_Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[queues.rules]]``: what is different for queues whose names are equivalent to the pattern."""

    pattern: str

    def __post_init__(self) -> None:
        pattern_of(self.pattern)
        _said(self)


class QueuesTable(_Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[queues]``: how queues behave. The first rule that fits decides."""

    rules: tuple[QueueRule, ...] = ()

    def __post_init__(self) -> None:
        _said(self)

    @property
    def settings(self) -> QueueSettings:
        """Of queues that no rule fits."""
        return QueueSettings(**_said(self))

    @property
    def settings_by_pattern(self) -> Sequence[tuple[bytes, QueueSettings]]:
        """Of the others."""
        return [(pattern_of(rule.pattern), attrs.evolve(self.settings, **_said(rule))) for rule in self.rules]


def _said(table: _Settings) -> dict[str, Any]:
    values = said(table, QueueSettings)
    if "dead_letter" in values:
        values["dead_letter"] = _dead_letter(values["dead_letter"])
    return values


def _dead_letter(text: str) -> bytes | None:
    if not text:
        return None
    name = pattern_of(text)
    if names.is_wild(name) or names.is_service(name):
        raise ValueError(f"{text!r} is no queue: it has a wildcard, or is below $")
    return name
