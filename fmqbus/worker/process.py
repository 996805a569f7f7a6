"""One process of a pool, as the pool sees it.

========= ================================ ========================================================
state     the process                      leaves it when
========= ================================ ========================================================
starting  loads its modules                it says that it is ready; it cannot load; it takes too long
idle      waits                            it is given a job; `end`
busy      runs a job                       the job ends; it takes too long, and is killed
ending    is killed, or was told to end    it has ended
dead      is no more                       never
========= ================================ ========================================================

A job ends once, by whatever comes first: its answer, its time, or the end of its process.
"""

from __future__ import annotations

import enum
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.job_functions import Name
from fmqbus.worker.child import ANSWERS
from fmqbus.worker.messages import Broken, Done, Progress, Raised, Ready, Run, decode_told, encode
from fmqbus.worker.outcome import Ending, Outcome, died, given_up, timed_out
from fmqbus.worker.settings import PoolSettings

_log = Logger()

_PROGRAM = "import sys; from fmqbus.worker import child; child.main(sys.argv[1:])"


class State(enum.Enum):
    """See the table at the head of this file."""

    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    ENDING = "ending"
    DEAD = "dead"


#: Where a job runs: what a process is told, and whom to tell how far it is.
_Progressed = Callable[[Progress], None]


class JobProcess(ProcessProtocol):
    """See above."""

    def __init__(self, reactor: Any, settings: PoolSettings, changed: Callable[[JobProcess], None]) -> None:
        """`changed` is called when it has become idle or dead."""
        self.state = State.STARTING
        #: How many jobs it has been given.
        self.runs = 0
        #: It became ready: its modules can be loaded.
        self.was_ready = False
        self._reactor = reactor
        self._settings = settings
        self._changed = changed
        self._received = b""
        self._why = ""
        #: Job → seconds that it may take if nobody says otherwise; what says nothing of it is None or missing.
        self._timeouts: dict[str, float | None] = {}
        self._job: Deferred[Outcome] | None = None
        self._progressed: _Progressed | None = None
        self._transport: Any = None
        self._timer: Any = reactor.callLater(settings.start_seconds, self._kill, "it did not start in time")

    def start(self) -> None:
        """Start the process."""
        arguments = [*self._settings.modules, "--", *self._settings.allowed]
        self._transport = self._reactor.spawnProcess(
            self,
            sys.executable,
            [sys.executable, "-c", _PROGRAM, *arguments],
            env=dict(os.environ),
            childFDs={0: "w", 1: 1, 2: 2, ANSWERS: "r"},
        )

    def run(self, run: Run, seconds: float | None, progressed: _Progressed) -> Deferred[Outcome]:
        """Run a job, for so long at most (as for the pool); only when idle. The Deferred never fails."""
        assert self.state is State.IDLE, self.state
        if seconds is None:
            seconds = self._timeouts.get(str(Name(run.path, run.callable)))
        if seconds is None:
            seconds = self._settings.timeout
        self.state = State.BUSY
        self.runs += 1
        job: Deferred[Outcome] = Deferred()
        self._job, self._progressed = job, progressed
        if seconds:
            self._timer = self._reactor.callLater(seconds, self._time_is_over, seconds)
        self._transport.writeToChild(0, encode(run))
        return job

    def end(self, why: str) -> None:
        """End it now, whatever it does."""
        if self.state not in (State.ENDING, State.DEAD):
            self._kill(why)

    def give_up(self) -> None:
        """End it now; its job is no longer waited for."""
        self.end("the worker stops, and its time is over")
        self._finish(given_up())

    # what the process tells

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            self._told(line)
        if len(self._received) > self._settings.answer_octets:
            self._finish(Outcome(Ending.RAISED, text="what it returned is too large", kind="ValueError"))
            self._kill("its answer is too large")

    def _told(self, line: bytes) -> None:
        if self.state in (State.ENDING, State.DEAD):
            return
        try:
            told = decode_told(line)
        except msgspec.DecodeError as error:
            # a job has written where only we write
            self._kill(f"it said what has no sense: {error}")
            return
        match told:
            case Ready(jobs):
                self.was_ready, self._timeouts = True, jobs
                self._become_idle()
            case Broken(reason):
                self._kill(reason)
            case Progress():
                if self._progressed is not None:
                    self._progressed(told)
            case Done(value, memory):
                self._answered(Outcome(Ending.DONE, bytes(value)), memory)
            case Raised(kind, text, traceback, memory):
                outcome = Outcome(Ending.RAISED, text=text, kind=kind, traceback=traceback)
                self._answered(outcome, memory)

    def _answered(self, outcome: Outcome, memory: int) -> None:
        settings = self._settings
        if 0 < settings.jobs_per_process <= self.runs or 0 < settings.process_octets < memory:
            self._kill("it has done enough")
        self._finish(outcome)
        if self.state is State.BUSY:
            self._become_idle()

    def _become_idle(self) -> None:
        self._stop_timer()
        self.state = State.IDLE
        self._changed(self)

    def _finish(self, outcome: Outcome) -> None:
        self._stop_timer()
        job, self._job, self._progressed = self._job, None, None
        if job is not None:
            job.callback(outcome)

    # how it ends

    def _time_is_over(self, seconds: float) -> None:
        self._kill("its job took too long")
        self._finish(timed_out(seconds))

    def _kill(self, why: str) -> None:
        """It and all that it has started."""
        self._stop_timer()
        self.state, self._why = State.ENDING, why
        if self._transport is not None and self._transport.pid:
            with suppress(ProcessExitedAlready):
                self._transport.signalProcess("KILL")
            with suppress(ProcessLookupError):
                os.killpg(self._transport.pid, signal.SIGKILL)

    def _stop_timer(self) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None

    def processEnded(self, reason: Failure) -> None:
        self._stop_timer()
        if self.state is not State.ENDING:
            self._why = f"its process has ended: {reason.getErrorMessage()}"
        if not self.was_ready:
            _log.error("a job process did not become ready: {why}", why=self._why)
        self.state = State.DEAD
        self._finish(died(self._why))
        self._changed(self)
