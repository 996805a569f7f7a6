"""What of the traffic is journaled, where to, and what if the disk is too slow? Values, and the decision for a name."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path

import attrs

from fmqbus import names
from fmqbus.auth.name_pattern import NamePattern
from fmqbus.limits import MIB


class Keep(enum.Enum):
    """How much of a message is kept."""

    #: Nothing; as if it had not been.
    OFF = "off"
    #: All but the payload.
    HEADS = "heads"
    FULL = "full"


class Sort(enum.Enum):
    """What a name is the name of."""

    TOPIC = "topic"
    QUEUE = "queue"
    METHOD = "method"


class WhenBehind(enum.Enum):
    """What happens when more waits to be written than may."""

    #: Nothing more is read from those whose messages are journaled, until half of it is written. What comes in all the
    #: same has as much room again, and is then left out, as by ``gap``.
    PAUSE = "pause"
    #: Rows are left out, and counted in a row that stands in their place.
    GAP = "gap"


@attrs.frozen
class KeepRule:
    """What is kept under names that a pattern covers."""

    pattern: NamePattern
    keep: Keep
    #: Of these alone.
    of: Sequence[Sort] = tuple(Sort)


@attrs.frozen(kw_only=True)
class JournalSettings:
    """One bus's journal."""

    path: Path
    shard: int = 0
    #: Of names that no rule covers, but for those below ``$``; the first rule that does decides.
    keep: Keep = Keep.FULL
    rules: Sequence[KeepRule] = ()
    when_behind: WhenBehind = WhenBehind.PAUSE
    #: How long rows gather before they are forced to the disk, and how many octets may wait for it.
    commit_seconds: float = 0.05
    waiting_octets: int = 64 * MIB
    #: When a segment is closed, and can be sealed.
    segment_octets: int = 256 * MIB
    segment_seconds: float = 60.0


class Decisions:
    """What is kept under each name. Bounded; topics are the peers' to invent."""

    _MOST = 65_536

    def __init__(self, settings: JournalSettings, sort: Sort) -> None:
        self._rules = [rule for rule in settings.rules if sort in rule.of]
        self._otherwise = settings.keep
        #: What is kept of all names but those below ``$``; None where the name decides.
        self.for_all = None if self._rules else settings.keep
        self._known: dict[bytes, Keep] = {}

    def __getitem__(self, name: bytes) -> Keep:
        keep = self._known.get(name)
        if keep is None:
            if len(self._known) >= self._MOST:
                self._known.clear()
            keep = self._known[name] = self._decide(name)
        return keep

    def _decide(self, name: bytes) -> Keep:
        levels = name.split(b"/")
        found = next((rule.keep for rule in self._rules if rule.pattern.covers(levels)), None)
        if found is not None:
            return found
        return Keep.OFF if names.is_service(name) else self._otherwise
