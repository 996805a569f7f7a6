"""``twistd fmqbus-worker``: what it parses, and what it runs."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.internet.error import ReactorNotRunning
from twisted.python import usage

from fmqbus.errors import BusError
from fmqbus.protocols.emqp.addresses import DEFAULT_WORKER_ADDRESS
from fmqbus.worker.service import WorkerService, WorkerSettings
from fmqbus.worker.settings import PoolSettings

_POOL = PoolSettings()


def _at_least(least: int) -> Any:
    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError(f"at least {least}")
        return value

    return number


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError("seconds, 0 or more")
    return value


class Options(usage.Options):
    """Options of ``twistd fmqbus-worker``."""

    synopsis = "[options]"
    optParameters: ClassVar = [
        ["broker", "b", DEFAULT_WORKER_ADDRESS, "Where the broker listens for workers."],
        ["queues", "q", "default:10", "Queues to serve and how gladly, as in default:10,email:40."],
        ["processes", None, _POOL.processes, "Jobs at the same time.", _at_least(1)],
        ["timeout", None, _POOL.timeout, "Seconds for a job that says nothing itself; 0 for no limit.", _seconds],
        ["grace", None, _POOL.grace_seconds, "Seconds for what runs when the worker stops.", _seconds],
        ["jobs-per-process", None, _POOL.jobs_per_process, "Then a process is replaced; 0: never.", _at_least(0)],
        ["process-octets", None, _POOL.process_octets, "Of a larger one too; 0: never.", _at_least(0)],
    ]

    def __init__(self) -> None:
        super().__init__()
        self["app"] = []
        self["allow"] = []

    def opt_app(self, module: str) -> None:
        """Load this module or package, and run what its functions are decorated for. May be repeated."""
        self["app"].append(module)

    opt_a = opt_app

    def opt_allow(self, name: str) -> None:
        """Run this too: module:function, or module:Class.method. May be repeated."""
        self["allow"].append(name)

    def postOptions(self) -> None:
        """Refuse what could never work."""
        try:
            self.settings()
        except BusError as error:
            raise usage.UsageError(str(error)) from None

    def settings(self) -> WorkerSettings:
        """What the service takes. Raises `BusError`."""
        return WorkerSettings.told(
            broker=self["broker"],
            queues=self["queues"],
            modules=self["app"],
            allowed=self["allow"],
            processes=self["processes"],
            timeout=self["timeout"],
            grace_seconds=self["grace"],
            jobs_per_process=self["jobs-per-process"],
            process_octets=self["process-octets"],
        )


class EndingWorker(WorkerService):
    """When the broker tells it to stop, the process has nothing left to do."""

    def startService(self) -> None:
        """As for any worker."""
        super().startService()
        dismissed: Deferred[None] = self.when_dismissed()
        dismissed.addCallback(lambda _: _stop(self._reactor))


def makeService(options: Options) -> WorkerService:
    """Return the service for twistd to run."""
    from twisted.internet import reactor  # the place where the process's reactor is chosen

    reactor.callWhenRunning(_obey_signals, reactor)
    return EndingWorker(reactor, options.settings())


def _obey_signals(reactor: Any) -> None:
    """The reactor would let them end the process *by that signal*, after a clean stop; a clean stop is no failure."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: reactor.callFromThread(_stop, reactor))


def _stop(reactor: Any) -> None:
    """May be repeated."""
    with suppress(ReactorNotRunning):
        reactor.stop()
