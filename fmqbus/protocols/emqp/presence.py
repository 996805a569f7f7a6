"""Who is there? (eMQP, Heartbeating)

A worker or a scheduler is there from its INFORM on, as long as it is heard: any word of it counts. It is told at
regular intervals that the broker is there too, whatever else it is sent, since EventMQ's workers wait for HEARTBEATs to
replace their processes. Whoever has not INFORMed this run of the broker is told nothing: only by silence does a worker
learn that it has to INFORM again.
"""

from __future__ import annotations

from collections.abc import Sequence

from fmqbus.deadlines import Deadlines

#: The name of the socket, and the identity there.
Peer = tuple[str, bytes]

#: What EventMQ does.
BEAT_SECONDS = 3.0
#: EventMQ's peers give up after three times five; its broker after five, which loses workers that are merely busy.
SILENCE_SECONDS = 15.0


class Presence:
    """The peers that are there, and when they were heard and told last."""

    def __init__(self, beat_seconds: float = BEAT_SECONDS, silence_seconds: float = SILENCE_SECONDS) -> None:
        self._beat_seconds = beat_seconds
        self._silence_seconds = silence_seconds
        self._silences: Deadlines[Peer] = Deadlines()
        self._beats: Deadlines[Peer] = Deadlines()

    def __contains__(self, peer: Peer) -> bool:
        return peer in self._silences

    def __len__(self) -> int:
        return len(self._silences)

    def informed(self, peer: Peer, now: float) -> None:
        """It is there, or there again. It is due to be told at once: EventMQ's workers start at the first HEARTBEAT."""
        self._silences.set(peer, self._silence_seconds, now)
        self._beats.set(peer, 0.0, now)

    def heard(self, peer: Peer, now: float) -> bool:
        """It has said something. False if it is not there: it is to be told nothing."""
        if peer not in self._silences:
            return False
        self._silences.set(peer, self._silence_seconds, now)
        return True

    def heard_at(self, peer: Peer) -> float:
        """When one that is there was last heard."""
        return self._silences.end_of(peer) - self._silence_seconds

    def left(self, peer: Peer) -> None:
        """It is there no more; may be repeated."""
        self._silences.discard(peer)
        self._beats.discard(peer)

    def to_beat(self, now: float) -> Sequence[Peer]:
        """Those that are to be told now that the broker is there; each counts as told."""
        peers = self._beats.passed(now)
        for peer in peers:
            self._beats.set(peer, self._beat_seconds, now)
        return peers

    def silent(self, now: float) -> Sequence[Peer]:
        """Take those out that have not been heard for too long."""
        peers = self._silences.passed(now)
        for peer in peers:
            self._beats.discard(peer)
        return peers
