"""Which connections have been silent for too long?

One timer looks at all connections of a listener. A timer for each would cost more memory than the connection's
own counters, and its rescheduling would be felt on every read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from fmqbus.interfaces import IConnection
from fmqbus.turns import Turns

#: Looks per limit. Silence is thus noticed at the latest after 1 1/4 of the time allowed.
LOOKS = 4

_Connection = TypeVar("_Connection", bound=IConnection)


@attrs.define(eq=False)
class _Watched:
    """What the last look saw of one connection."""

    octets: int
    since: float
    is_asked: bool = False


class SilenceSweep(Generic[_Connection]):
    """Asks connections to go, or to say something, that have sent nothing for `seconds`; 0 is off. Those that are
    silent for `patience` more are aborted."""

    _log = Logger()

    def __init__(
        self, clock: Any, turns: Turns, seconds: float, patience: float, ask: Callable[[_Connection], None]
    ) -> None:
        self._clock = clock
        self._turns = turns
        self._seconds = seconds
        self._patience = patience
        self._ask = ask
        self._watched: dict[_Connection, _Watched] = {}
        self._looking = LoopingCall(self.look)
        self._looking.clock = clock

    def start(self) -> None:
        """Begin to look."""
        if self._seconds > 0:
            looking: Deferred[Any] = self._looking.start(self._seconds / LOOKS, now=False)
            looking.addErrback(lambda failure: self._log.failure("The sweep has ended", failure))

    def stop(self) -> None:
        """Look no more; may be repeated."""
        if self._looking.running:
            self._looking.stop()

    def watch(self, connection: _Connection) -> None:
        """A connection has begun."""
        if self._seconds > 0:
            self._watched[connection] = _Watched(connection.octets_received, self._clock.seconds())

    def forget(self, connection: _Connection) -> None:
        """A connection has gone. May be repeated."""
        self._watched.pop(connection, None)

    def look(self) -> None:
        """Ask whoever has been silent for the whole time; called by the timer."""
        self._turns.go_through(self._look_at_each(self._clock.seconds()), lambda: None)

    def _look_at_each(self, now: float) -> Iterator[None]:
        for connection, watched in list(self._watched.items()):
            silence = now - watched.since
            if connection.octets_received != watched.octets or connection.is_kept_waiting:
                watched.octets = connection.octets_received
                watched.since = now
                watched.is_asked = False
            elif silence >= self._seconds + self._patience:
                connection.abort("idle")
            elif silence >= self._seconds and not watched.is_asked:
                watched.is_asked = True
                self._ask(connection)
            yield
