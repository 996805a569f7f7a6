"""A stream connection that holds what has not fully arrived: it is accounted for, and who has too much of it is cut
off.
"""

from __future__ import annotations

from twisted.logger import Logger

from fmqbus.transports.stream import StreamProtocol

_log = Logger()

#: A half-received message counts against the listener's `Limits.assembly_octets` from here on; what is shorter is
#: bounded by the number of connections, and most reads end with such a rest.
ACCOUNTED_FROM = 16 * 1024


class AssemblingStream(StreamProtocol):
    """The other half overrides `held` and `forget_half_received`, and calls `account` and `release`."""

    _accounted = 0

    @property
    def held(self) -> int:
        """Octets held for what has not fully arrived."""
        raise NotImplementedError

    def forget_half_received(self) -> None:
        """Let go of those; nothing is acted on any more."""
        raise NotImplementedError

    def account(self) -> bool:
        """Call this where `held` has changed. False if the connection is cut off."""
        held = self.held
        if held <= ACCOUNTED_FROM:
            held = 0
        if held == self._accounted:
            return True
        if self.listener.hold(held - self._accounted):
            self._accounted = held
            return True
        _log.warn("half-received messages of all clients pass their limit; {peer} is cut off", peer=self.facts.address)
        # now, and not when the connection has gone: else others would be cut off for what this one held
        self.release()
        self.abort("assembly limit")
        return False

    def release(self) -> None:
        """Nothing is held any more."""
        self.forget_half_received()
        self.listener.hold(-self._accounted)
        self._accounted = 0
