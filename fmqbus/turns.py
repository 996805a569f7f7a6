"""How long may one thing keep all others waiting? A share of each turn of the reactor, for all that takes long
together.

One read can hold tens of thousands of small packets, one client can have a hundred thousand subscriptions to end, one
wildcard can bring a hundred thousand retained values. Such work is cut into steps, and the steps of all of it together
get a share of each turn. What is not done then waits for the share of a later turn; meanwhile everybody else is served.
All that wait divide such a share among them, in their order: a client with little left to do is not kept waiting until
each of fifty with much has had a whole one. What a new read brought takes one step in any case, so that light clients
need not queue behind heavy ones.

Steps are for what may take long. What surely does not (runs of publications for one receiver) is no step, and costs
nothing here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from twisted.logger import Logger

#: Of each turn; nobody feels a delay as short as this, and a thousand small requests fit into it.
SHARE_SECONDS = 0.005
#: What large reads together may bring in a turn; to act on so much takes some milliseconds.
SHARE_OCTETS = 4 * 1024 * 1024

_log = Logger()


class Turns:
    """The turns of the reactor, as one bus shares them among its work."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        #: When this turn's share is used up; None if nobody has taken a step in it.
        self._end: float | None = None
        #: When who acts now must let others act.
        self._yield_at = 0.0
        self._octets = 0
        self._waiting: deque[Callable[[], object]] = deque()

    def has_read_enough(self, octets: int) -> bool:
        """Count a large read; True if large reads have used up their share of this turn."""
        if self._end is None:
            self._begin()
        self._octets += octets
        return self._octets >= SHARE_OCTETS

    @property
    def is_over(self) -> bool:
        """Whether others have used up the share of this turn already; asked before anything is begun."""
        return self._end is not None and bool(self._clock.seconds() >= self._end)

    @property
    def is_used_up(self) -> bool:
        """Whether the share of this turn is used up, or what of it falls to who asks; asked after each step."""
        if self._end is None:
            self._begin()
        return bool(self._clock.seconds() >= self._yield_at)

    def wait(self, go_on: Callable[[], object]) -> None:
        """Have this called in a later turn, after those that wait already."""
        self._waiting.append(go_on)

    def go_through(self, steps: Iterator[None], turn_over: Callable[[], None]) -> bool:
        """Take all the steps, now if the turn allows, else in later turns too; `turn_over` is called each time that it
        has to wait, and at the end. Returns whether that was at once."""
        if self.is_over:
            self.wait(lambda: self.go_through(steps, turn_over))
            return False
        is_done = True
        try:
            for _ in steps:
                if self.is_used_up:
                    is_done = False
                    self.wait(lambda: self.go_through(steps, turn_over))
                    break
        finally:
            turn_over()
        return is_done

    def _begin(self) -> float:
        end: float = self._clock.seconds() + SHARE_SECONDS
        self._end = self._yield_at = end
        self._octets = 0
        self._clock.callLater(0, self._next)
        return end

    def _next(self) -> None:
        self._end = None
        if not self._waiting:
            return
        end = self._begin()
        now = end - SHARE_SECONDS
        for left in range(len(self._waiting), 0, -1):
            if now >= end:
                break
            self._yield_at = now + (end - now) / left
            go_on = self._waiting.popleft()
            try:
                go_on()
            except Exception:
                _log.failure("what waited for its turn has failed")
            now = self._clock.seconds()
        self._yield_at = end
