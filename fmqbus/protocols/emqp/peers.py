"""Who acts on the bus for clients and publishers? They have no session of their own, for they come, say one thing, and
are gone."""

from __future__ import annotations

from fmqbus.interfaces import IRouter, ISession
from fmqbus.model import PeerFacts, Principal
from fmqbus.protocols.quiet_peer import QuietPeer

PROTOCOL = "emqp"

#: A client's session ends when nobody has used it for so long.
_IDLE_SECONDS = 60.0
#: Sessions at a time; then the one that was not used for the longest time ends. Who may choose an address, or a key,
#: has as many as he likes.
MOST_CALLERS = 10_000


class Callers:
    """The sessions of clients and publishers: one for all of whom the carrier knows the same.

    They choose their identities themselves, send one message and are gone; all that tells them apart for the bus is
    where they are.
    """

    def __init__(self, router: IRouter) -> None:
        self._router = router
        #: What was used last comes last.
        self._sessions: dict[PeerFacts, tuple[_Caller, float]] = {}

    def session_of(self, facts: PeerFacts, now: float) -> ISession:
        """The session of those at one place. Raises `Refused` while the bus ends."""
        found = self._sessions.pop(facts, None)
        if found is None or found[0].has_ended:
            if len(self._sessions) >= MOST_CALLERS:
                longest_unused = next(iter(self._sessions))
                self._sessions.pop(longest_unused)[0].ending("too many")
            # equal places differ in the port, which means nothing to those who share a session
            caller = _Caller(self._router, Principal(PROTOCOL, facts))
        else:
            caller, _ = found
        self._sessions[facts] = caller, now
        return caller.bus

    def sweep(self, now: float) -> None:
        """End the sessions that nobody uses."""
        for facts, (caller, used) in list(self._sessions.items()):
            if now - used > _IDLE_SECONDS or caller.has_ended:
                del self._sessions[facts]
                caller.ending("idle")


class _Caller(QuietPeer):
    has_ended = False

    def ending(self, reason: str) -> None:
        self.has_ended = True
        super().ending(reason)
