"""Is a connection sending a message that never ends?

ZeroMQ bounds each part of a message, but not their number, and hands a message on when it is whole: until then it
keeps what has come, without any bound, and tells nobody. The kernel knows how much a connection has brought, though,
and we know which connections have brought a whole message lately. What one brings without finishing a message, for so
long that no allowed message is as large, has to end.
"""

from __future__ import annotations

import attrs

from fmqbus.interfaces import IListener

#: What may come beside messages: ZMTP's heartbeats have less.
_SPARE_OCTETS_A_SECOND = 256


@attrs.define(eq=False)
class Unfinished:
    """What one connection holds of a message that is not finished, as far as we know; counted by `IListener.hold`."""

    _listener: IListener
    #: What had come at the last look, and when that was.
    _octets: int = 0
    _looked: float = attrs.field(init=False)
    _held: int = 0
    #: It holds too much, by what the last look saw; what it sent may only not have been read yet.
    _is_suspect: bool = False

    def __attrs_post_init__(self) -> None:
        self._looked = self._listener.clock.seconds()

    def is_too_much(self, octets: int, is_excused: bool) -> bool:
        """So many octets have come since the connection began. Whether it has to end. It is excused if it has finished
        a message since the last look, or if it is us who have not read."""
        growth = max(octets - self._octets - self._spare(), -self._held)
        if is_excused:
            self.let_go()
        elif self._held + growth <= self._most and self._listener.hold(growth):
            self._held += growth
            self._is_suspect = False
        elif self._is_suspect:
            return True
        else:
            self._is_suspect = True
            return False
        self._octets, self._looked = octets, self._listener.clock.seconds()
        return False

    def let_go(self) -> None:
        """It has finished its message, or has gone."""
        self._listener.hold(-self._held)
        self._held = 0
        self._is_suspect = False

    @property
    def _most(self) -> int:
        limits = self._listener.limits
        return limits.body_octets + limits.control_octets

    def _spare(self) -> int:
        return int((self._listener.clock.seconds() - self._looked) * _SPARE_OCTETS_A_SECOND)
