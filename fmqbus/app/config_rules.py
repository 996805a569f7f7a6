"""How does a table look whose rules by pattern inherit its settings? What ``[queues]`` and ``[calls]`` have in common.

Settings and their defaults are written down once, in an attrs class of values; the tables of the file are made of it,
and leave out what they like.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from fmqbus import names
from fmqbus.errors import InvalidName


def settings_table(settings: type[attrs.AttrsInstance], kinds: Mapping[str, Any]) -> type[msgspec.Struct]:
    """A table that may say these settings, each of its kind."""
    return msgspec.defstruct(
        f"{settings.__name__}Table",
        [(field.name, kinds[field.name] | msgspec.UnsetType, msgspec.UNSET) for field in attrs.fields(settings)],
        frozen=True,
        forbid_unknown_fields=True,
    )


def said(table: msgspec.Struct, settings: type[attrs.AttrsInstance]) -> dict[str, Any]:
    """The settings that a table says itself."""
    values = {field.name: getattr(table, field.name) for field in attrs.fields(settings)}
    return {name: value for name, value in values.items() if value is not msgspec.UNSET}


def pattern_of(text: str) -> bytes:
    """The pattern of a rule. Raises `ValueError`, to which msgspec adds the place."""
    try:
        return names.from_text(text)
    except InvalidName as error:
        raise ValueError(f"{text!r} is no pattern: {error}") from None
