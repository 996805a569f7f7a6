"""How does a part read its table of the configuration file? By a struct that says what may stand there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from fmqbus.errors import ConfigError

T = TypeVar("T", bound=msgspec.Struct)


def read_table(kind: type[T], table: object, where: str) -> T:
    """What the table says whose name is `where`. Raises `ConfigError` that names the key."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where}: a table is expected")
    try:
        return msgspec.convert(dict(table), kind)
    except msgspec.ValidationError as error:
        complaint, _, place = str(error).partition(" - at `$")
        raise ConfigError(f"{where}{place.rstrip('`')}: {complaint}") from None
