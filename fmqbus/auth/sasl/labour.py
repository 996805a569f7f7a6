"""Where is done what takes long, so that the reactor goes on? In threads, few at a time, behind a bounded line; and
where others are asked who answer when they like, a line as well.

The hash of a password takes a third of a second and, being C, holds no lock of Python's meanwhile. Beside that, a
thread of its own for each costs nothing; and it can give way to the reactor, which one of the reactor's pool could not
without slowing down whatever that pool is asked for next.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from threading import Thread, get_native_id
from typing import Any

import attrs
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorThreads
from twisted.python.failure import Failure

from fmqbus.errors import Overloaded
from fmqbus.logins import Step

#: Two, so that one core is left for the reactor even on a small machine whose other one waits for nothing.
THREADS = 2
#: Where all cores are busy, a thread gets a tenth of what the reactor gets.
_NICENESS = 10


@attrs.define(eq=False)
class _Job:
    work: Callable[[], Any]
    #: Asked when its turn comes, in the reactor's thread: an answer in place of the work, or None to do it.
    instead: Callable[[], Step | None]
    done: Deferred[Step]


class Labour:
    """The line, and the threads. A clock that is no reactor has no threads: what is done is done at once."""

    def __init__(self, clock: Any, most_waiting: int, at_once: int = THREADS, in_threads: bool = True) -> None:
        """So much is done at a time. If not `in_threads`, work returns a Deferred of the step."""
        self._at_once = at_once
        self._in_threads = in_threads
        self._clock = clock
        self._most_waiting = most_waiting
        self._waiting: OrderedDict[Deferred[Step], _Job] = OrderedDict()
        self._busy = 0

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def do(self, work: Callable[[], Any], instead: Callable[[], Step | None]) -> Deferred[Step]:
        """Do the work when its turn comes. Raises `Overloaded` if too many wait."""
        if self._busy >= self._at_once and len(self._waiting) >= self._most_waiting:
            raise Overloaded("too many logins at a time")
        done: Deferred[Step] = Deferred()
        self._waiting[done] = _Job(work, instead, done)
        self._go_on()
        return done

    def give_up(self, done: Deferred[Step]) -> None:
        """Leave the line: it never fires. What has begun goes on to its end, as a thread cannot be stopped."""
        self._waiting.pop(done, None)

    def _go_on(self) -> None:
        while self._waiting and self._busy < self._at_once:
            _, job = self._waiting.popitem(last=False)
            step = job.instead()
            if step is not None:
                job.done.callback(step)
                continue
            self._busy += 1
            # a thread that cannot be begun is work that has failed, and not a place in the line that is lost
            maybeDeferred(self._in_thread, job.work).addBoth(self._done, job)

    def _in_thread(self, work: Callable[[], Any]) -> Deferred[Step]:
        if not (self._in_threads and IReactorThreads.providedBy(self._clock)):
            return maybeDeferred(work)
        done: Deferred[Step] = Deferred()

        def run() -> None:
            _give_way()
            try:
                outcome: Any = work()
            except Exception:
                outcome = Failure()
            self._clock.callFromThread(done.callback, outcome)

        Thread(target=run, name="login", daemon=True).start()
        return done

    def _done(self, outcome: Any, job: _Job) -> None:
        """What comes of the work is acted on before the next in line is asked whether it is still to be done."""
        self._busy -= 1
        job.done.callback(outcome)  # a Failure goes the errbacks' way
        self._go_on()


def _give_way() -> None:
    """Let others go first, where that can be done. Only on Linux has a thread a priority of its own; elsewhere it would
    be the process's. A sandbox may allow no change of it, and then the work is done all the same."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, get_native_id(), _NICENESS)
