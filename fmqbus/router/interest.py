"""Who listens for what, and who wants to know: demand, FMQP's feedback topics as the bus sees them.

For every exact pattern the number of its visible subscriptions is kept; a change is told to all sessions that watch an
equivalent pattern. What FMQP calls the cached feedback message of a topic is this number: a new watcher gets it
for every pattern that has any (readings 34 to 36). Hidden (debug) subscriptions do not count, neither now nor
when they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmqbus import names
from fmqbus.limits import Limits
from fmqbus.model import Action, Interest
from fmqbus.router.routes import Authorize, RouteTable
from fmqbus.topic_index import TopicIndex

if TYPE_CHECKING:
    from fmqbus.router.session import Session


class InterestTable:
    """The watchers of the subscriptions in a route table."""

    def __init__(self, table: RouteTable, authorize: Authorize, limits: Limits) -> None:
        self._subscriptions = table.subscriptions
        self._watchers: TopicIndex[dict[Session, None]] = TopicIndex()
        self._authorize = authorize
        self._limits = limits

    def watchers_of(self, pattern: bytes) -> Sequence[Session]:
        """Each session once that watches an equivalent pattern and may know of this one."""
        if not self._watchers:
            return ()
        found: dict[Session, None] = {}
        for watched, sessions in self._watchers.matching(pattern):
            meeting = names.meet(pattern, watched)
            for session in sessions:
                if session not in found and self._authorize(session.principal, Action.WATCH, meeting):
                    found[session] = None
        return tuple(found)

    def of(self, pattern: bytes) -> Sequence[bytes]:
        """The subscribed patterns that a watch of this one sees, whoever may. Raises `Overloaded` if that is more
        than may be visited."""
        found = self._subscriptions.matching(pattern, self._limits.replay_visits)
        return [subscribed for subscribed, subscribers in found if subscribers.visible]

    def seen_by(self, session: Session, watched: bytes, pattern: bytes) -> Interest | None:
        """The present interest in a pattern, if there is any and a watch of this session may see it."""
        subscribers = self._subscriptions.get(pattern)
        if not subscribers or not subscribers.visible:
            return None
        if not self._authorize(session.principal, Action.WATCH, names.meet(watched, pattern)):
            return None
        return Interest(pattern, subscribers.visible)

    def watch(self, session: Session, pattern: bytes) -> None:
        """Begin a watch, or repeat it."""
        sessions = self._watchers.get(pattern)
        if sessions is None:
            sessions = {}
            self._watchers.set(pattern, sessions)
        sessions[session] = None

    def unwatch(self, session: Session, pattern: bytes) -> None:
        """End a watch that exists."""
        sessions = self._watchers.get(pattern)
        if sessions is not None:
            sessions.pop(session, None)
            if not sessions:
                self._watchers.discard(pattern)
