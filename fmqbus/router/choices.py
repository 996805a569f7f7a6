"""Which of the servers of a method gets a call? The policies of `fmqbus.calls.Choice`.

All keep to this: only who has room is chosen, the choice costs the same however many servers there are, and who had no
room is thought of again when somebody looks at it.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Protocol

from fmqbus.calls import Choice, MethodSettings, Parcel
from fmqbus.router.line import Line
from fmqbus.router.sorted_map import SortedMap

if TYPE_CHECKING:
    from fmqbus.router.methods import Server

#: Places of one server on the circle of hashes; with these, shares differ by some tenths.
_PLACES = 32


class Servers(Protocol):
    """All servers of one method."""

    def __len__(self) -> int:
        """How many there are."""

    def add(self, server: Server) -> None:
        """One has come."""

    def remove(self, server: Server) -> None:
        """It has gone."""

    def look_at(self, server: Server) -> None:
        """It has fewer calls in hand, or may have room again."""

    def choose(self, parcel: Parcel) -> Server | None:
        """Who gets this call; he has one more in hand then. None if nobody has room."""


def servers_by(settings: MethodSettings) -> Servers:
    """No servers yet, to be chosen among as the settings say."""
    if settings.choice is Choice.LEAST_BUSY:
        return LeastBusy()
    if settings.choice is Choice.HASH:
        return ByHash(settings.key)
    return RoundRobin()


class RoundRobin:
    """See `Choice.ROUND_ROBIN`."""

    def __init__(self) -> None:
        self._line: Line[Server] = Line()

    def __len__(self) -> int:
        return len(self._line)

    def add(self, server: Server) -> None:
        self._line.add(server)

    def remove(self, server: Server) -> None:
        self._line.remove(server)

    def look_at(self, server: Server) -> None:
        self._line.look_at(server)

    def choose(self, parcel: Parcel) -> Server | None:
        turn = self._line.next()
        if turn is None:
            return None
        server, _ = turn
        self._line.gave(server, 1)
        server.in_hand += 1
        return server


class LeastBusy:
    """See `Choice.LEAST_BUSY`. Among equals, who has been as busy for longest."""

    def __init__(self) -> None:
        #: Each server's key in the order below; None while it has no room.
        self._keys: dict[Server, tuple[float, int] | None] = {}
        self._free: SortedMap[tuple[float, int], Server] = SortedMap()
        self._serials = count()

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, server: Server) -> None:
        self._keys[server] = None
        self.look_at(server)

    def remove(self, server: Server) -> None:
        self._take_out(server)
        del self._keys[server]

    def look_at(self, server: Server) -> None:
        self._take_out(server)
        if server.room > 0:
            key = self._keys[server] = (server.in_hand / server.weight, next(self._serials))
            self._free.add(key, server)

    def _take_out(self, server: Server) -> None:
        key, self._keys[server] = self._keys[server], None
        if key is not None:
            self._free.discard(key)

    def choose(self, parcel: Parcel) -> Server | None:
        while self._free:
            [server] = self._free.peek(1)
            self._free.drop_first(1)
            self._keys[server] = None
            if server.room > 0:
                server.in_hand += 1
                self.look_at(server)
                return server
        return None


class ByHash(RoundRobin):
    """See `Choice.HASH`. Servers stand on a circle at many places each; a value belongs to the next one round from its
    own place. So when a server comes or goes, only what belongs to it changes hands. Weights do not count here."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._numbers = count()
        self._places: dict[Server, list[bytes]] = {}
        self._circle: SortedMap[bytes, Server] = SortedMap()

    def add(self, server: Server) -> None:
        super().add(server)
        number = next(self._numbers)
        self._places[server] = [_place(f"{number}/{index}") + b"%d" % number for index in range(_PLACES)]
        for place in self._places[server]:
            self._circle.add(place, server)

    def remove(self, server: Server) -> None:
        super().remove(server)
        for place in self._places.pop(server):
            self._circle.discard(place)

    def choose(self, parcel: Parcel) -> Server | None:
        value = parcel.properties.get(self._key)
        if value is not None and self._circle:
            server = self._circle.first_from(_place(value)) or self._circle.peek(1)[0]
            if server.room > 0:
                server.in_hand += 1
                return server
        return super().choose(parcel)


def _place(value: str) -> bytes:
    return blake2b(value.encode(errors="surrogatepass"), digest_size=8).digest()
