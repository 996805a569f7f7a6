"""How long may a connection keep all others waiting with what it has sent at once?

One read can hold tens of thousands of small packets, and each can be a request that takes long: a wildcard over very
many names, say. So what a read brought is acted on in steps, and the steps of all connections of a listener together
get a share of each turn of the reactor. What is not done then waits, in turn, for the share of a later one; meanwhile
its connection is not read, and everybody else is served. What a new read brought takes one step in any case.

Steps are for what may take long. What surely does not (runs of publications whose targets are known) is no step, and
costs nothing here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

#: Of each turn; nobody feels a delay as short as this, and a thousand small requests fit into it.
SHARE_SECONDS = 0.005


class Turns:
    """The turns of the reactor, as the connections of one listener share them."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        #: When this turn's share is used up; None if nobody has taken a step in it.
        self._end: float | None = None
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def is_used_up(self) -> bool:
        """Whether the share of this turn is used up; asked after each step."""
        if self._end is None:
            self._begin()
        return bool(self._clock.seconds() >= self._end)

    def wait(self, go_on: Callable[[], None]) -> None:
        """Have this called in a later turn, after those that wait already."""
        self._waiting.append(go_on)

    def _begin(self) -> None:
        self._end = self._clock.seconds() + SHARE_SECONDS
        self._clock.callLater(0, self._next)

    def _next(self) -> None:
        self._end = None
        if self._waiting:
            self._begin()
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()
            if self.is_used_up:
                return
