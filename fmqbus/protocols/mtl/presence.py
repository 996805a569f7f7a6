"""Who is there? (MTL, Heartbeating; readings 31, 53 and 54)

A data flow is there from its first lease on, as long as it is heard: any word of it counts. A Ping is due to one that
was told nothing for a while, so that it knows of us, and also to one that was not heard for a while: who reads without
confirming says nothing unless it is asked, however much it is sent.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from fmqbus.deadlines import Deadlines

#: The text names no time. Long enough to be no load with 10,000 flows, short enough to give a queue's messages back.
PING_SECONDS = 10.0
#: As many Pings may remain unanswered.
SILENT_PINGS = 3

Key = TypeVar("Key", bound=Hashable)


class Presence(Generic[Key]):
    """The flows that are there, and when they were heard and told something last. Times are in seconds."""

    def __init__(self, ping_seconds: float = PING_SECONDS, silent_pings: int = SILENT_PINGS) -> None:
        self._ping_seconds = ping_seconds
        self._silence_seconds = ping_seconds * silent_pings
        self._untold: Deadlines[Key] = Deadlines()
        self._unheard: Deadlines[Key] = Deadlines()
        self._silences: Deadlines[Key] = Deadlines()

    def __contains__(self, flow: Key) -> bool:
        return flow in self._silences

    def __len__(self) -> int:
        return len(self._silences)

    def came(self, flow: Key, now: float) -> None:
        """It is there: it has used a lease."""
        self._untold.set(flow, self._ping_seconds, now)
        self._hear(flow, now)

    def heard(self, flow: Key, now: float) -> None:
        """It has said something; nothing happens if it is not there."""
        if flow in self._silences:
            self._hear(flow, now)

    def told(self, flow: Key, now: float) -> None:
        """It was sent something; nothing happens if it is not there."""
        if flow in self._silences:
            self._untold.set(flow, self._ping_seconds, now)

    def left(self, flow: Key) -> None:
        """It is there no more; may be repeated."""
        for deadlines in (self._untold, self._unheard, self._silences):
            deadlines.discard(flow)

    def to_ping(self, now: float) -> Sequence[Key]:
        """Those that are due a Ping, each once; each counts as told."""
        due = dict.fromkeys((*self._untold.passed(now), *self._unheard.passed(now)))
        for flow in due:
            self._untold.set(flow, self._ping_seconds, now)
            self._unheard.set(flow, self._ping_seconds, now)
        return tuple(due)

    def longest_unheard(self, most: int) -> Sequence[Key]:
        """So many of them, those first that were not heard for the longest time."""
        return self._silences.first(most)

    def silent(self, now: float) -> Sequence[Key]:
        """Take those out that have not been heard for too long."""
        flows = self._silences.passed(now)
        for flow in flows:
            self._untold.discard(flow)
            self._unheard.discard(flow)
        return flows

    def _hear(self, flow: Key, now: float) -> None:
        self._unheard.set(flow, self._ping_seconds, now)
        self._silences.set(flow, self._silence_seconds, now)
