"""Of very many sessions and queues, which are the few that an operator wants to see?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Generic, TypeVar

from twisted.internet.defer import Deferred

from fmqbus.model import QueueStatus, SessionStatus
from fmqbus.router.queue import Queue
from fmqbus.router.slices import STEP, Slices

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

T = TypeVar("T")


class _Few(Generic[T]):
    """Those that come first, of all that are added: so many at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        #: The last of the few is the first here; of equals, the one that was added first stays.
        self._heap: list[tuple[tuple[int, int], int, T]] = []
        self._added = 0

    def add(self, rank: tuple[int, int], thing: T) -> None:
        self._added += 1
        put = heappush if len(self._heap) < self._most else heappushpop
        put(self._heap, (rank, -self._added, thing))

    def in_order(self) -> Sequence[T]:
        """The first first."""
        return [thing for _, _, thing in sorted(self._heap, reverse=True)]


def busiest(router: Router, most: int) -> Deferred[tuple[Sequence[SessionStatus], Sequence[QueueStatus]]]:
    """See `IRouter.busiest`."""
    sessions: _Few[Session] = _Few(most)
    queues: _Few[Queue] = _Few(most)

    def look() -> Iterator[None]:
        yield from _add_all(sessions, ((_rank_of_session(one), one) for one in router.sessions()))
        yield from _add_all(queues, (((one.messages, one.enqueued), one) for one in router.queuing.table))

    def told(_: None) -> tuple[Sequence[SessionStatus], Sequence[QueueStatus]]:
        return [one.status() for one in sessions.in_order()], [one.status() for one in queues.in_order()]

    return Slices(router.turns, lambda: None).run(look()).addCallback(told)


def _rank_of_session(session: Session) -> tuple[int, int]:
    traffic = session.statistics
    return session.outbox.kept_octets, traffic.octets_in + traffic.octets_out


def _add_all(few: _Few[T], ranked: Iterable[tuple[tuple[int, int], T]]) -> Iterator[None]:
    for number, (rank, thing) in enumerate(ranked):
        few.add(rank, thing)
        if number % STEP == 0:
            yield
