"""What is worth a line in the log: of what can happen very often, such as a peer's mistake, and of mistakes of ours in
what has to go on all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.logger import Logger

_log = Logger()

#: Often enough to see that it goes on.
NOTICE_SECONDS = 60.0


class Notices:
    """Lets each kind of notice through once a minute, and counts the others.

    Kinds are words of ours, never of a peer: there are only so many.
    """

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        #: Kind → when it was let through, and how many were not since then.
        self._last: dict[str, tuple[float, int]] = {}

    def due(self, kind: str) -> int | None:
        """How many of this kind, this one included, a line now stands for. None if there is to be no line."""
        now = self._clock.seconds()
        since, untold = self._last.get(kind, (None, 0))
        if since is not None and now - since < NOTICE_SECONDS:
            self._last[kind] = since, untold + 1
            return None
        self._last[kind] = now, 0
        return untold + 1


def goes_on(act: Callable[[], object], what: str) -> Callable[[], None]:
    """`act`, for those who go on whatever comes of it. If it raises, which is a mistake of ours, the log says that
    `what` has failed."""

    def done() -> None:
        try:
            act()
        except Exception:
            _log.failure("{what} has failed", what=what)

    return done
