"""How many jobs have ended, of which queue and by whom, and how long did they take? For people."""

from __future__ import annotations

from collections import Counter

from fmqbus.protocols.emqp.presence import Peer

#: Names that are remembered; with more of them it begins anew.
_MOST_NAMES = 10_000


class Figures:
    """Since the broker began, as far as names do not become too many. Times are in seconds."""

    def __init__(self) -> None:
        self.by_queue: Counter[bytes] = Counter()
        self.by_worker: Counter[Peer] = Counter()
        #: In the workers' hands: all together, and the longest.
        self.seconds: dict[bytes, float] = {}
        self.longest: dict[bytes, float] = {}

    def count(self, queue: bytes, worker: Peer, seconds: float) -> None:
        """A job has ended."""
        if len(self.by_queue) + len(self.by_worker) > _MOST_NAMES:
            for names in (self.by_queue, self.by_worker, self.seconds, self.longest):
                names.clear()
        self.by_queue[queue] += 1
        self.by_worker[worker] += 1
        self.seconds[queue] = seconds + self.seconds.get(queue, 0.0)
        self.longest[queue] = max(seconds, self.longest.get(queue, 0.0))
