"""What a client is still to be told of how things stood when it asked: retained values, and interest it watches.

A wildcard can bring very much. It comes in steps (`fmqbus.turns`), and only while the client's link takes it, so it is
paced by the client and costs no more than a list of what is to come. What is published meanwhile waits in the outbox
until the replay is over, since cached copies go before newer publications (reading 21). Whatever is no longer as it
was is left out: the client hears of the change itself, for its subscription or watch stands from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from twisted.logger import Logger

from fmqbus.errors import Overloaded
from fmqbus.model import Interest, Publication, Subscription

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

_log = Logger()

#: So few are told in one step, and at once if there are no more.
STEP = 64

#: What to tell of an item by now; None for nothing.
_Tell = Callable[[Any], tuple[Publication | Interest, tuple[Subscription, ...]] | None]


class Replays:
    """The replays of one client, one after the other."""

    __slots__ = ("_is_going", "_left", "_pending", "_router", "_session")

    def __init__(self, router: Router, session: Session) -> None:
        self._router = router
        self._session = session
        #: By what was asked: a repeated question replaces what is left of the former answer.
        self._pending: dict[object, tuple[Iterator[Any], _Tell]] = {}
        self._left: dict[object, int] = {}
        self._is_going = False

    def check_room_for(self, key: object, items: int) -> None:
        """Raises `Overloaded` if that many more would be too many to come."""
        left = sum(self._left.values()) - self._left.get(key, 0)
        if left + items > self._router.limits.replay_visits:
            raise Overloaded("too much is still to be told to one client")

    def begin(self, key: object, items: Sequence[Any], tell: _Tell) -> None:
        """Tell the client of these items, in order, as fast as it takes them."""
        if len(items) <= STEP and not self._pending:
            for told in filter(None, map(tell, items)):
                self._session.outbox.put(*told, self._session)
            return
        self._pending.pop(key, None)
        self._pending[key] = (iter(items), tell)
        self._left[key] = len(items)
        self._session.outbox.begin_replay()
        self.go_on()

    def go_on(self) -> None:
        """The client's link takes data (again)."""
        if self._pending and not self._is_going:
            self._is_going = True
            self._router.turns.go_through(self._steps(), lambda: self._router.flush(self._session))

    def clear(self) -> None:
        """The client has gone."""
        self._pending.clear()
        self._left.clear()

    def _steps(self) -> Iterator[None]:
        outbox = self._session.outbox
        while self._pending and outbox.takes_data:
            key = next(iter(self._pending))
            items, tell = self._pending[key]
            some = list(islice(items, STEP))
            if some:
                self._left[key] -= len(some)
                try:
                    outbox.replay(list(filter(None, map(tell, some))))
                except Exception:
                    # it would go on believing what nobody knows to be true
                    _log.failure("what {session} asked for cannot be looked up", session=self._session)
                    self.clear()
                    self._session.end_soon("failed")
            else:
                del self._pending[key], self._left[key]
            yield
        self._is_going = False
        if not self._pending:
            outbox.end_replay()
            self._session.resume_delivery()
