"""How does a bus end softly? The steps of FMQP's ``$/signals/stop``, for every protocol alike.

Step 1, accept no more clients, is the listeners'; 2 to 6 are here: ignore what clients say, wait until subscribers have
what was published, publish all wills, wait again, close every client. Queues hand out nothing more from step 2 on: what
is in them stays there, and so does what consumers hold. Nothing is done by schedule then, and calls fail, for no reply
to them would be heard. Each wait has a limit, or one slow subscriber would keep the broker up for ever (reading 45).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, DeferredList, inlineCallbacks, succeed

from fmqbus.waiting import Waiters

if TYPE_CHECKING:
    from fmqbus.router.service import Router

_REASON = "drained"


class Drain:
    """The soft stop of one router. It happens once, and never fails."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self.has_begun = False
        self._is_over = False
        self._ends = Waiters()

    def begin(self) -> Deferred[None]:
        """Begin, if that has not been done. Returns a new Deferred for each caller, fired when it is over."""
        if self._is_over:
            return succeed(None)
        end = self._ends.wait()
        if not self.has_begun:
            self.has_begun = True
            self._steps().addBoth(self._tell)
        return end

    def _tell(self, _: object) -> None:
        self._is_over = True
        self._ends.fire()

    @inlineCallbacks
    def _steps(self) -> Generator[Deferred[None], Any, None]:
        router = self._router
        router.scheduling.stop()
        router.queuing.stop_delivering()
        for session in router.sessions():
            session.tell_peer("stop_listening")
        router.calling.stop()
        router.flush(None)
        yield self._all_delivered()
        for session in router.sessions():
            for _ in session.fire_wills():
                """The steps of one client after the other: nobody is served now who could be kept waiting."""
        router.flush(None)
        yield self._all_delivered()
        for session in router.sessions():
            if not session.tell_peer("ending", _REASON):
                session.close(_REASON)
        yield self._all_closed()
        for session in router.sessions():
            session.kick(_REASON)
        yield self._all_closed()

    def _all_delivered(self) -> Deferred[None]:
        sessions = self._router.sessions()
        return self._within_limit([session.outbox.when_empty() for session in sessions if session.peer is not None])

    def _all_closed(self) -> Deferred[None]:
        return self._within_limit([session.when_closed() for session in self._router.sessions()])

    def _within_limit(self, waiting: list[Deferred[None]]) -> Deferred[None]:
        """Fires when all have fired, or after `Limits.drain_seconds`."""
        done: Deferred[None] = Deferred()

        def finish(_: object = None) -> None:
            if timer.active():
                timer.cancel()
            if not done.called:
                done.callback(None)

        timer = self._router.clock.callLater(self._router.limits.drain_seconds, finish)
        DeferredList(waiting).addCallback(finish)
        return done
