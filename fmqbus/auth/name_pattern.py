"""Which names does a rule speak of? Patterns of rules, over names and over patterns that peers ask for.

A rule's pattern has levels parted by ``/``; ``*`` stands for one level, a final ``**`` for any further levels,
also none. Names below ``$`` are reached only by patterns whose first level is literally ``$``, so that no broad
rule opens the broker's own topics by accident.
"""

from __future__ import annotations

from collections.abc import Sequence

from fmqbus import names
from fmqbus.errors import ConfigError, InvalidName

OPEN_END = "**"


class NamePattern:
    """The names a rule speaks of. A peer's request may hold ``*`` levels itself, so there are two questions."""

    __slots__ = ("_is_open", "_levels", "text")

    def __init__(self, text: str) -> None:
        """Read a pattern as written in a rule; raises `ConfigError`."""
        *head, last = text.strip("/").split("/")
        if OPEN_END in head:
            raise ConfigError(f"{text!r}: {OPEN_END} may only be the last level")
        self.text = text
        self._is_open = last == OPEN_END
        self._levels: Sequence[bytes] = ()
        if head or not self._is_open:
            try:
                self._levels = names.from_text("/".join(head if self._is_open else [*head, last])).split(b"/")
            except InvalidName as error:
                raise ConfigError(f"{text!r} is no name: {error}") from None

    def __repr__(self) -> str:
        return f"NamePattern({self.text!r})"

    def covers(self, asked: Sequence[bytes]) -> bool:
        """Tell whether every name that is meant by the asked levels is one of this pattern's; those below ``$``
        count only where they are asked for by that very level."""
        return self._reaches(asked) and all(
            ours in (names.STAR, theirs) for ours, theirs in zip(self._levels, asked, strict=False)
        )

    def overlaps(self, asked: Sequence[bytes]) -> bool:
        """Tell whether some name that is meant by the asked levels is one of this pattern's."""
        return self._reaches(asked) and all(
            ours in (names.STAR, theirs) or theirs == names.STAR
            for ours, theirs in zip(self._levels, asked, strict=False)
        )

    def _reaches(self, asked: Sequence[bytes]) -> bool:
        is_long_enough = len(asked) >= len(self._levels) if self._is_open else len(asked) == len(self._levels)
        is_kept_out = asked[0] == names.SERVICE_LEVEL and self._levels[:1] != [names.SERVICE_LEVEL]
        return is_long_enough and not is_kept_out
