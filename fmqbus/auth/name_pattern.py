"""Which names does a rule speak of? Patterns of rules, over names and over patterns that peers ask for.

A rule's pattern has levels parted by ``/``; ``*`` stands for one level, a final ``**`` for any further levels,
also none. Names below ``$`` are reached only by patterns whose first level is literally ``$``, so that no broad
rule opens the broker's own topics by accident.

A level ``{identity}`` stands for the name that the peer has proved. It is never put into the text of a pattern: it is
compared as one level, so nothing in a name can be taken for a slash or a star. For a peer whose name cannot be a level,
or who has none, such a pattern speaks of no name at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from fmqbus import names
from fmqbus.errors import ConfigError, InvalidName

OPEN_END = "**"
#: The only thing in a pattern that is put in for something else.
IDENTITY = b"{identity}"
_FORBIDDEN = frozenset("/*$")


@lru_cache(4096)
def identity_level(identity: str | None) -> bytes | None:
    """A proved name as a level of a pattern; None if it cannot be one: there is none, it has several levels, or
    something in it that means more than itself in a pattern."""
    if not identity or not _FORBIDDEN.isdisjoint(identity):
        return None
    try:
        return names.from_text(identity)
    except InvalidName:
        return None


class NamePattern:
    """The names a rule speaks of. A peer's request may hold ``*`` levels itself, so there are two questions."""

    __slots__ = ("is_open", "levels", "text")

    def __init__(self, text: str) -> None:
        """Read a pattern as written in a rule; raises `ConfigError`."""
        *head, last = text.strip("/").split("/")
        if OPEN_END in head:
            raise ConfigError(f"{text!r}: {OPEN_END} may only be the last level")
        self.text = text
        #: It ends in ``**``.
        self.is_open = last == OPEN_END
        #: The others; among them `IDENTITY`.
        self.levels: Sequence[bytes] = ()
        if head or not self.is_open:
            try:
                self.levels = names.from_text("/".join(head if self.is_open else [*head, last])).split(b"/")
            except InvalidName as error:
                raise ConfigError(f"{text!r} is no name: {error}") from None
        for level in self.levels:
            # one that was misspelt would fit nothing: harmless where it allows, an open door where it was to deny
            if level != IDENTITY and (b"{" in level or b"}" in level):
                raise ConfigError(f"{text!r}: a brace stands only in {{identity}}, which is a level of its own")

    def __repr__(self) -> str:
        return f"NamePattern({self.text!r})"

    def covers(self, asked: Sequence[bytes], identity: bytes | None = None) -> bool:
        """Tell whether every name that is meant by the asked levels is one of this pattern's; those below ``$``
        count only where they are asked for by that very level. `identity` is the peer's `identity_level`."""
        return self._reaches(asked) and all(
            ours in (names.STAR, theirs) for ours, theirs in zip(self._levels_for(identity), asked, strict=False)
        )

    def overlaps(self, asked: Sequence[bytes], identity: bytes | None = None) -> bool:
        """Tell whether some name that is meant by the asked levels is one of this pattern's."""
        return self._reaches(asked) and all(
            ours in (names.STAR, theirs) or (theirs == names.STAR and ours is not None)
            for ours, theirs in zip(self._levels_for(identity), asked, strict=False)
        )

    def _levels_for(self, identity: bytes | None) -> Sequence[bytes | None]:
        return [identity if level == IDENTITY else level for level in self.levels]

    def _reaches(self, asked: Sequence[bytes]) -> bool:
        is_long_enough = len(asked) >= len(self.levels) if self.is_open else len(asked) == len(self.levels)
        is_kept_out = asked[0] == names.SERVICE_LEVEL and self.levels[:1] != [names.SERVICE_LEVEL]
        return is_long_enough and not is_kept_out
