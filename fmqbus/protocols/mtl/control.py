"""Who has opened at one place, and what is answered to whom? (MTL, Control Flow; readings 1 to 6)

Whoever has not opened costs nothing: what it asks is answered and forgotten. Identities prove nothing, so a login does
not follow one to another address: there it counts as new.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from fmqbus.errors import BusError, Overloaded
from fmqbus.model import Origin
from fmqbus.protocols.mtl.commands import Open, Reply, Request
from fmqbus.protocols.mtl.session import Place, Session
from fmqbus.protocols.mtl.statuses import Declined, Status, status_of
from fmqbus.protocols.mtl.virtual_hosts import VirtualHosts

#: A session that was used more lately gives way to nobody.
_SHORTEST_SECONDS = 60.0


class Control:
    """The sessions of one place."""

    def __init__(
        self,
        place: Place,
        hosts: VirtualHosts,
        most: int,
        idle_seconds: float,
        reply: Callable[[bytes, Reply], None],
    ) -> None:
        """`most` sessions at a time. `reply` is how a peer is answered, in whatever way that may fail."""
        self._place = place
        self._hosts = hosts
        self._most = most
        self._idle_seconds = idle_seconds
        self._reply = reply
        self.is_stopping = False
        #: With the time of their last request, the one first that was used longest ago.
        self._sessions: OrderedDict[bytes, tuple[Session, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def heard(self, peer: bytes, origin: Origin, request: Request) -> None:
        """A client asks for something. Raises a `BusError` for what is not done; it has been answered."""
        if self.is_stopping:
            self._answer_no(peer, origin, Status.BAD_REQUEST)
            raise Overloaded("the broker ends", "ending")
        if isinstance(request, Open):
            self._open(peer, origin, request)
            return
        session = self._find(peer, origin)
        if session is None:
            status = self._place.begin(origin).refusal(type(request)) or Status.BAD_REQUEST
            self._answer_no(peer, origin, status)
            raise Declined(status, f"{request.command} before Connection.Open", "state")
        session.asked(request)

    def declined(self, peer: bytes, origin: Origin, error: BusError) -> None:
        """A request of this peer's is well-formed, and invalid."""
        self._find(peer, origin)
        self._answer_no(peer, origin, status_of(error) or Status.BAD_REQUEST)

    def sweep(self) -> None:
        """End those that nobody uses."""
        now = self._place.now()
        while self._sessions:
            peer, (session, used) = next(iter(self._sessions.items()))
            if now - used < self._idle_seconds:
                break
            self._end(peer, session)

    def close(self) -> None:
        """The bus has ended."""
        for peer, (session, _) in list(self._sessions.items()):
            self._end(peer, session)

    def _open(self, peer: bytes, origin: Origin, request: Open) -> None:
        host = self._hosts.find(request.virtual_host)
        if host is None:
            self._answer_no(peer, origin, Status.BAD_REQUEST)
            raise Declined(Status.BAD_REQUEST, f"virtual host {request.virtual_host[:40]!r}", "virtual-host")
        former = self._sessions.get(peer)
        if former is not None:
            self._end(peer, former[0])
        elif not self._has_room():
            self._answer_no(peer, origin, Status.BAD_REQUEST)
            raise Overloaded(f"{self._most} control sessions", "sessions")
        self._sessions[peer] = Session(self._place, origin, host, partial(self._reply, peer)), self._place.now()

    def _find(self, peer: bytes, origin: Origin) -> Session | None:
        found = self._sessions.get(peer)
        if found is None or found[0].origin.facts != origin.facts:
            return None
        self._sessions[peer] = found[0], self._place.now()
        self._sessions.move_to_end(peer)
        return found[0]

    def _has_room(self) -> bool:
        """Where there is none, the one gives way that was used longest ago, if that is long."""
        if len(self._sessions) < self._most:
            return True
        peer, (session, used) = next(iter(self._sessions.items()))
        if self._place.now() - used < _SHORTEST_SECONDS:
            return False
        self._end(peer, session)
        return True

    def _end(self, peer: bytes, session: Session) -> None:
        del self._sessions[peer]
        session.close()

    def _answer_no(self, peer: bytes, origin: Origin, status: Status) -> None:
        self._reply(peer, self._place.no(status, origin))
