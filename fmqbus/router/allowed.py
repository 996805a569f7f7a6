"""May the client do this here, again? Remembers the answers yes for single names, since they are asked at each message.

A topic's answer is remembered with its route; this is for what has none: queues and methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmqbus.model import Action

if TYPE_CHECKING:
    from fmqbus.router.session import Session

_MOST_NAMES = 256


class Allowed:
    """The names at which one client may do one thing."""

    __slots__ = ("_action", "_session", "names")

    def __init__(self, session: Session, action: Action) -> None:
        self._session = session
        self._action = action
        #: Those that are known. Others may be allowed too.
        self.names: set[bytes] = set()

    def demand(self, name: bytes) -> None:
        """See `Session.demand_at`."""
        if name in self.names:
            return
        self._session.demand_at(self._action, name)
        if len(self.names) >= _MOST_NAMES:
            self.names.clear()
        self.names.add(name)

    def forget(self) -> None:
        """The policy has changed."""
        self.names.clear()
