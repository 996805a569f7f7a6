"""Who has been accepted, and may not have finished a handshake yet?

ZeroMQ gives each handshake `PREAMBLE_SECONDS`, but any number of them at a time. It does not tell whose handshake is
over. But no handshake is over with fewer octets than its messages have; of so many with fewer than that, the one that
came first has to go, as in the waiting room of streams.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from fmqbus.transports.preamble import PREAMBLE_PLACES
from fmqbus.transports.zeromq.accepted import Accepted

#: Octets that a client's part of a handshake has at least, by mechanism: ZMTP's greeting (RFC 23, 64), and what follows
#: it (RFC 26, HELLO with 202 and INITIATE with 259). Those whose ZMTP is older than version 3 have fewer; they are
#: heard by nobody.
LEAST_OCTETS: Mapping[bytes, int] = {b"NULL": 64, b"PLAIN": 64, b"CURVE": 64 + 202 + 259}


class Newcomers:
    """Connections in the order in which they came. Constant time for each."""

    def __init__(self, least_octets: int, places: int = PREAMBLE_PLACES) -> None:
        self._least_octets = least_octets
        self._places = places
        self._waiting: OrderedDict[Accepted, None] = OrderedDict()

    def came(self, connection: Accepted) -> Accepted | None:
        """One more has been accepted. Returns the one that has to go for it, if any has."""
        self._waiting[connection] = None
        if len(self._waiting) <= self._places:
            return None
        first, _ = self._waiting.popitem(last=False)
        octets = first.look()
        return first if octets is not None and octets < self._least_octets else None

    def left(self, connection: Accepted) -> None:
        """It has been heard, or has gone. May be repeated."""
        self._waiting.pop(connection, None)
