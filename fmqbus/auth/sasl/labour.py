"""Where is done what takes long, so that the reactor goes on? In threads, few at a time, behind a bounded line.

The hash of a password takes a third of a second and, being C, holds no lock of Python's meanwhile. The threads are the
reactor's own; of those, no more than `THREADS` are ever taken up by logins, whatever clients do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorThreads
from twisted.internet.threads import deferToThreadPool

from fmqbus.errors import Overloaded
from fmqbus.logins import Step

#: Two, so that one core is left for the reactor even on a small machine whose other one waits for nothing.
THREADS = 2


@attrs.define(eq=False)
class _Job:
    work: Callable[[], Step]
    #: Asked when its turn comes, in the reactor's thread: an answer in place of the work, or None to do it.
    instead: Callable[[], Step | None]
    done: Deferred[Step]


class Labour:
    """The line, and the threads. A clock that is no reactor has no threads: what is done is done at once."""

    def __init__(self, clock: Any, most_waiting: int) -> None:
        self._clock = clock
        self._most_waiting = most_waiting
        self._waiting: OrderedDict[Deferred[Step], _Job] = OrderedDict()
        self._busy = 0

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def do(self, work: Callable[[], Step], instead: Callable[[], Step | None]) -> Deferred[Step]:
        """Do the work when its turn comes. Raises `Overloaded` if too many wait."""
        if self._busy >= THREADS and len(self._waiting) >= self._most_waiting:
            raise Overloaded("too many logins at a time")
        done: Deferred[Step] = Deferred()
        self._waiting[done] = _Job(work, instead, done)
        self._go_on()
        return done

    def give_up(self, done: Deferred[Step]) -> None:
        """Leave the line: it never fires. What has begun goes on to its end, as a thread cannot be stopped."""
        self._waiting.pop(done, None)

    def _go_on(self) -> None:
        while self._waiting and self._busy < THREADS:
            _, job = self._waiting.popitem(last=False)
            step = job.instead()
            if step is not None:
                job.done.callback(step)
                continue
            self._busy += 1
            self._in_thread(job.work).addBoth(self._done, job)

    def _in_thread(self, work: Callable[[], Step]) -> Deferred[Step]:
        if IReactorThreads.providedBy(self._clock):
            return deferToThreadPool(self._clock, self._clock.getThreadPool(), work)
        return maybeDeferred(work)

    def _done(self, outcome: Any, job: _Job) -> None:
        """What comes of the work is acted on before the next in line is asked whether it is still to be done."""
        self._busy -= 1
        job.done.callback(outcome)  # a Failure goes the errbacks' way
        self._go_on()
