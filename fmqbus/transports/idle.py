"""Which connections have been silent for too long?

One timer looks at all connections of a listener. A timer for each would cost more memory than the connection's
own counters, and its rescheduling would be felt on every read.
"""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from fmqbus.interfaces import IConnection

#: Looks per limit. Silence is thus noticed at the latest after 1 1/4 of the time allowed.
_LOOKS = 4


@attrs.define(eq=False)
class _Watched:
    """What the last look saw of one connection."""

    octets: int
    since: float
    is_told_to_go: bool = False


class IdleSweep:
    """Closes connections that have sent nothing for `seconds`; 0 is off. What does not go in good order within
    another look is aborted."""

    _log = Logger()

    def __init__(self, clock: Any, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._watched: dict[IConnection, _Watched] = {}
        self._looking = LoopingCall(self.look)
        self._looking.clock = clock

    def start(self) -> None:
        """Begin to look."""
        if self._seconds > 0:
            looking: Deferred[Any] = self._looking.start(self._seconds / _LOOKS, now=False)
            looking.addErrback(lambda failure: self._log.failure("The idle sweep has ended", failure))

    def stop(self) -> None:
        """Look no more; may be repeated."""
        if self._looking.running:
            self._looking.stop()

    def watch(self, connection: IConnection) -> None:
        """A connection has begun."""
        if self._seconds > 0:
            self._watched[connection] = _Watched(connection.octets_received, self._clock.seconds())

    def forget(self, connection: IConnection) -> None:
        """A connection has gone."""
        self._watched.pop(connection, None)

    def look(self) -> None:
        """Close whatever has been silent for the whole time; called by the timer."""
        now = self._clock.seconds()
        for connection, watched in list(self._watched.items()):
            if watched.is_told_to_go:
                connection.abort("idle")
            elif connection.octets_received != watched.octets or connection.is_kept_waiting:
                watched.octets = connection.octets_received
                watched.since = now
            elif now - watched.since >= self._seconds:
                watched.is_told_to_go = True
                connection.lose("idle")
