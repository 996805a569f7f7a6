"""What may stand below ``[calls]``? Values for `MethodSettings`; a rule inherits what it does not say itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import attrs
import msgspec

from fmqbus.app.config_rules import pattern_of, said, settings_table
from fmqbus.calls import Choice, MethodSettings

_KINDS: dict[str, Any] = {
    "choice": Choice,
    "key": Annotated[str, msgspec.Meta(min_length=1)],
    "deadline": Annotated[float, msgspec.Meta(gt=0, le=366 * 86_400)],
    "max_waiting": Annotated[int, msgspec.Meta(ge=0)],
}

if TYPE_CHECKING:
    _Settings = msgspec.Struct
else:
    _Settings = settings_table(MethodSettings, _KINDS)


class MethodRule(_Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[[calls.rules]]``: what is different for methods whose names are equivalent to the pattern."""

    pattern: str

    def __post_init__(self) -> None:
        pattern_of(self.pattern)


class CallsTable(_Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``[calls]``: how calls are treated. The first rule that fits the method decides."""

    rules: tuple[MethodRule, ...] = ()

    @property
    def settings(self) -> MethodSettings:
        """Of methods that no rule fits."""
        return MethodSettings(**said(self, MethodSettings))

    @property
    def settings_by_pattern(self) -> Sequence[tuple[bytes, MethodSettings]]:
        """Of the others."""
        usual = self.settings
        return [(pattern_of(rule.pattern), attrs.evolve(usual, **said(rule, MethodSettings))) for rule in self.rules]
