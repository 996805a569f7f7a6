"""Which names does a rule speak of? Patterns of rules, over names and over patterns that peers ask for.

A rule's pattern has levels parted by ``/``; ``*`` stands for one level, a final ``**`` for any further levels,
also none. Names below ``$`` are reached only by patterns whose first level is literally ``$``, so that no broad
rule opens the broker's own topics by accident.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from fmqbus import names
from fmqbus.errors import ConfigError, InvalidName

OPEN_END = "**"


@attrs.frozen
class NamePattern:
    """The names a rule speaks of. A peer's request may hold ``*`` levels itself, so there are two questions."""

    levels: tuple[bytes, ...]
    is_open: bool

    @classmethod
    def parse(cls, text: str) -> NamePattern:
        """Return the pattern that `text` writes; raises `ConfigError`."""
        *head, last = text.strip("/").split("/")
        if OPEN_END in head:
            raise ConfigError(f"{text!r}: {OPEN_END} may only be the last level")
        is_open = last == OPEN_END
        if is_open and not head:
            return cls((), is_open)
        try:
            name = names.from_text("/".join(head if is_open else [*head, last]))
        except InvalidName as error:
            raise ConfigError(f"{text!r} is no name: {error}") from None
        return cls(tuple(name.split(b"/")), is_open)

    def covers(self, asked: Sequence[bytes]) -> bool:
        """Tell whether every name that is meant by the asked levels is one of this pattern's; those below ``$``
        count only where they are asked for by that very level."""
        return self._reaches(asked) and all(
            ours in (names.STAR, theirs) for ours, theirs in zip(self.levels, asked, strict=False)
        )

    def overlaps(self, asked: Sequence[bytes]) -> bool:
        """Tell whether some name that is meant by the asked levels is one of this pattern's."""
        return self._reaches(asked) and all(
            ours in (names.STAR, theirs) or theirs == names.STAR
            for ours, theirs in zip(self.levels, asked, strict=False)
        )

    def _reaches(self, asked: Sequence[bytes]) -> bool:
        is_long_enough = len(asked) >= len(self.levels) if self.is_open else len(asked) == len(self.levels)
        is_kept_out = asked[0] == names.SERVICE_LEVEL and self.levels[:1] != (names.SERVICE_LEVEL,)
        return is_long_enough and not is_kept_out
