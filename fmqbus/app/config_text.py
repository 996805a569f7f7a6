"""How is a TOML file of the operator's read into typed values? What is wrong with it is told with line and key."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from fmqbus.app.config_place import line_of, parse_path
from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.who import Who
from fmqbus.errors import ConfigError

T = TypeVar("T")


def decode(text: str, origin: str, kind: type[T]) -> T:
    """Return what the text says, which stands in `origin`. Raises `ConfigError`."""
    try:
        return msgspec.toml.decode(text, type=kind, dec_hook=_decode_own)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{origin}{_explain(text, str(error))}") from None
    except msgspec.DecodeError as error:  # no TOML at all; the parser tells the line
        raise ConfigError(f"{origin}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{origin}: is nested too deeply") from None


def _decode_own(kind: type[Any], text: object) -> Any:
    """Read the values that have a notation of their own. msgspec adds the key to a ValueError."""
    if not isinstance(text, str):
        raise ValueError(f"Expected `str`, got {text!r}")
    if kind not in (Who, NamePattern):
        raise NotImplementedError(kind)
    try:
        return kind(text)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _explain(text: str, complaint: str) -> str:
    """Turn ``COMPLAINT - at `$.KEY` `` into ``, line N: KEY: COMPLAINT``."""
    complaint, _, path_text = complaint.partition(" - at `")
    path = parse_path(path_text)
    if unknown := re.search(r"unknown field `(.*)`", complaint):
        path = [*path, unknown[1]]
    line = line_of(text, path)
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return f"{f', line {line}' if line else ''}: {f'{key}: ' if key else ''}{complaint}"
