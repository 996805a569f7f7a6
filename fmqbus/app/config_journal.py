"""What may stand below ``[journal]``?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from fmqbus.auth.name_pattern import NamePattern
from fmqbus.limits import MIB
from fmqbus.observers.journal.settings import JournalSettings, Keep, KeepRule, Sort, WhenBehind

_Octets = Annotated[int, msgspec.Meta(ge=1024 * 1024, le=1024 * 1024 * 1024 * 1024)]
_Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class JournalRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[[journal.rules]]``: how much is kept of what has such a name."""

    pattern: NamePattern
    keep: Keep
    #: Of topics, queues or methods alone; empty for all of them.
    of: tuple[Sort, ...] = ()


class JournalTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[journal]``: what passes over the bus is kept in a folder. The first rule that covers a name decides."""

    #: The folder; it is made if there is none. Without one, there is no journal.
    path: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    #: This broker's number among those that write into one folder.
    shard: Annotated[int, msgspec.Meta(ge=0, le=9_999)] = 0
    #: Of names that no rule covers, but for those below ``$``, which only a rule can have kept.
    keep: Keep = Keep.FULL
    rules: tuple[JournalRule, ...] = ()
    when_behind: WhenBehind = WhenBehind.PAUSE
    #: How long what has happened gathers before it is forced to the disk,
    commit_seconds: Annotated[float, msgspec.Meta(ge=0.001, le=10)] = 0.05
    #: and how much of it may wait there.
    waiting_octets: _Octets = 64 * MIB
    #: When a segment is closed, and can be sealed.
    segment_octets: _Octets = 256 * MIB
    segment_seconds: _Seconds = 60.0

    @property
    def settings(self) -> JournalSettings | None:
        """What the bus needs to know; None if there is no journal."""
        if self.path is None:
            return None
        return JournalSettings(
            path=Path(self.path).absolute(),
            shard=self.shard,
            keep=self.keep,
            rules=[KeepRule(rule.pattern, rule.keep, rule.of or tuple(Sort)) for rule in self.rules],
            when_behind=self.when_behind,
            commit_seconds=self.commit_seconds,
            waiting_octets=self.waiting_octets,
            segment_octets=self.segment_octets,
            segment_seconds=self.segment_seconds,
        )
