"""Processes that run jobs: so many at a time, each job alone in one, none of them able to harm the worker.

A process that has ended is replaced: at once if it had become ready, later and later if it had not, so that a module
that cannot be loaded does not keep the machine busy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from fmqbus.errors import Overloaded
from fmqbus.waiting import Waiters
from fmqbus.worker.messages import Progress, Run
from fmqbus.worker.outcome import Outcome
from fmqbus.worker.process import JobProcess, State
from fmqbus.worker.settings import PoolSettings

_log = Logger()

#: Seconds before a process that did not become ready is replaced: at first, and at most.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0


def _nobody(progress: Progress) -> None:
    """Whom it is told if nobody asked."""


class Pool(Service):
    """A service: starting it starts the processes, stopping it waits for what they run, within bounds.

    `ready` is called whenever one more job can be given; nobody else learns of free places.
    """

    def __init__(
        self,
        reactor: Any,
        settings: PoolSettings,
        ready: Callable[[], None],
        make_process: Callable[[Any, PoolSettings, Callable[[JobProcess], None]], JobProcess] = JobProcess,
    ) -> None:
        self._reactor = reactor
        self._settings = settings
        self._ready = ready
        self._make_process = make_process
        self._processes: set[JobProcess] = set()
        self._idle: list[JobProcess] = []
        self._starts: set[Any] = set()
        self._wait = _FIRST_WAIT
        self._endings = Waiters()
        self._grace: Any = None

    @property
    def free(self) -> int:
        """How many jobs can be given now."""
        return len(self._idle) if self.running else 0

    @property
    def busy(self) -> int:
        """How many jobs run now."""
        return sum(process.state is State.BUSY for process in self._processes)

    def run(
        self, run: Run, timeout: float | None = None, progressed: Callable[[Progress], None] = _nobody
    ) -> Deferred[Outcome]:
        """Run a job, for so many seconds at most, 0 for no limit, None for what the job says itself, or else the
        settings. The Deferred never fails. Raises `Overloaded` if no process is free."""
        if not self.free:
            raise Overloaded("no process is free")
        process = self._idle.pop()
        return process.run(run, timeout, progressed)

    # the service

    def startService(self) -> None:
        """Start the processes."""
        super().startService()
        for _ in range(self._settings.processes):
            self._start()

    def stopService(self) -> Deferred[None]:
        """Give nothing more out. Fires when all processes have ended; what runs has `grace_seconds`."""
        super().stopService()
        for start in self._starts:
            start.cancel()
        self._starts.clear()
        ended = self._endings.wait()
        for process in tuple(self._processes):
            if process.state is not State.BUSY:
                process.end("the worker stops")
        if self._processes:
            self._grace = self._reactor.callLater(self._settings.grace_seconds, self._end_all)
        else:
            self._endings.fire()
        return ended

    def _end_all(self) -> None:
        self._grace = None
        for process in tuple(self._processes):
            process.give_up()

    # processes

    def _start(self) -> None:
        process = self._make_process(self._reactor, self._settings, self._changed)
        self._processes.add(process)
        process.start()

    def _start_later(self, seconds: float) -> None:
        def start() -> None:
            self._starts.discard(later)
            self._start()

        later = self._reactor.callLater(seconds, start)
        self._starts.add(later)

    def _changed(self, process: JobProcess) -> None:
        if process.state is State.DEAD:
            self._has_ended(process)
        elif not self.running:
            process.end("the worker stops")
        else:
            self._wait = _FIRST_WAIT
            self._idle.append(process)
            self._ready()

    def _has_ended(self, process: JobProcess) -> None:
        self._processes.discard(process)
        if process in self._idle:
            self._idle.remove(process)
        if self.running:
            if process.was_ready:
                self._start()
            else:
                self._start_later(self._wait)
                self._wait = min(2 * self._wait, _LONGEST_WAIT)
        elif not self._processes:
            if self._grace is not None:
                self._grace.cancel()
                self._grace = None
            self._endings.fire()
