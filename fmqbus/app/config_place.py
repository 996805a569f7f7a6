"""At which line of a TOML file does a key stand?

The decoder knows keys, not lines. So the TOML parser itself is asked: the shortest beginning of the file in which the
key exists ends with the statement that wrote it. That way there is no second opinion on what TOML means.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

KeyPath = Sequence[str | int]


def parse_path(text: str) -> KeyPath:
    """Return the keys of a path as msgspec writes it, such as ``$.access.rules[1].who[0]``; up to the first key that
    it does not tell (``[...]``)."""
    told = text.partition("[...]")[0]
    return [int(index) if index else key for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", told)]


def line_of(text: str, path: KeyPath) -> int | None:
    """Return the number of the line, from 1, at which the statement that wrote this key begins; None if there is none.

    `text` must be valid TOML. Parses it a logarithmic number of times.
    """
    lines = text.split("\n")

    def beginning_has_key(count: int) -> bool:
        while (document := _parse(lines[:count])) is None:
            count -= 1  # cut inside a statement of several lines: leave that statement out
        return _has(document, path)

    if not path or not beginning_has_key(len(lines)):
        return None
    end = bisect_left(range(len(lines)), True, key=beginning_has_key)
    start = end - 1
    while _parse(lines[:start]) is None:
        start -= 1
    return start + 1


def _parse(lines: Sequence[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return None


def _has(document: Any, path: KeyPath) -> bool:
    for key in path:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True
