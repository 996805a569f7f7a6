"""A bus that has a process of its own: how it begins, is told to reload, and ends.

=====================================  =====================================================  =========
what happens                           what the process does                                  exit code
=====================================  =====================================================  =========
a place to listen at is taken          ends, after one line on stderr                         1
a store cannot give back what it kept  ends, after one line on stderr                         1
SIGTERM, SIGINT, ``$/signals/stop``    drains, then ends                                      0
a second SIGTERM or SIGINT             ends at once                                           0
``$/signals/terminate``                ends at once                                           0
SIGHUP                                 takes over rules and certificates, or says why not     none
=====================================  =====================================================  =========

Twisted's reactor would let SIGTERM and SIGINT end the process *by that signal*, after a clean stop; here a clean
stop is a success, so the bus has handlers of its own.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from twisted.application.service import MultiService
from twisted.logger import ILogObserver, Logger
from twisted.python.failure import Failure

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config
from fmqbus.app.log_format import json_observer
from fmqbus.app.memory import GarbageOfSessions, collect_garbage_rarely, keep_freed_memory
from fmqbus.app.plugs import Plugs
from fmqbus.app.reach import warn_if_nobody_is_let_in
from fmqbus.errors import ConfigError, StoreFailed
from fmqbus.transports.listener import Listener

#: The signals that end a bus softly.
_ENDS = (signal.SIGTERM, signal.SIGINT)


class BusProcess(MultiService):
    """The service that twistd runs. Raises `ConfigError` as `Bus` does, and as `read_config` does."""

    _log = Logger()

    def __init__(
        self, reactor: Any, read_config: Callable[[], Config], plugs: Plugs, log_file: str | None = None
    ) -> None:
        """`read_config` is called now and at each SIGHUP; `log_file` is where twistd was told to log."""
        super().__init__()
        self._reactor = reactor
        self._read_config = read_config
        self._log_file = log_file
        self._begins_in_vain = False
        self._is_stopping = False
        self.bus = Bus(reactor, read_config(), plugs, self.stop)
        self.bus.setServiceParent(self)

    def setServiceParent(self, parent: Any) -> None:
        """Join twistd's application, among whose components it looks for a log observer other than its own."""
        super().setServiceParent(parent)
        if self.bus.config.log_format == "json":
            parent.setComponent(ILogObserver, json_observer(self._log_file))

    def privilegedStartService(self) -> None:
        """Listen; exits if that fails."""
        # Set now, for a signal may come before the reactor runs; and again when it does, for it sets its own first. One
        # that comes between these two has to wait, or it would end the process by that signal.
        self._obey_signals()
        self._reactor.addSystemEventTrigger("before", "startup", signal.pthread_sigmask, signal.SIG_BLOCK, _ENDS)
        self._reactor.callWhenRunning(self._obey_signals)
        self._reactor.callWhenRunning(signal.pthread_sigmask, signal.SIG_UNBLOCK, _ENDS)
        super().privilegedStartService()
        for listener in self.bus.listeners:
            listener.when_listening().addErrback(self._cannot_listen, listener)
        if self._begins_in_vain:
            raise SystemExit(1)

    def startService(self) -> None:
        """Begin to serve, once the stores have given back what they kept."""
        super().startService()
        self.bus.when_ready().addCallbacks(self._serve, self._cannot_recover)

    def _serve(self, _: None) -> None:
        collect_garbage_rarely()
        GarbageOfSessions(self._reactor, lambda: self.bus.router.opened).setServiceParent(self)
        keep_freed_memory()
        warn_if_nobody_is_let_in(self.bus)
        self.bus.warn_of_unknown_groups()

    def stop(self, soft: bool) -> None:
        """End the process, after a drain or at once. Asking softly again changes nothing."""
        if not soft:
            self.bus.stop_at_once()
        if not self._is_stopping:
            self._is_stopping = True
            self._reactor.callWhenRunning(self._reactor.stop)

    def reload(self) -> None:
        """Take over what can change while the bus runs. A configuration that cannot be used changes nothing."""
        try:
            self.bus.reload(self._read_config())
        except ConfigError as error:
            self._log.error("the old configuration stays: {error}", error=error)

    def _cannot_listen(self, failure: Failure, listener: Listener) -> None:
        if not failure.check(StoreFailed):  # that is told once, not for each listener
            self._end_in_vain(f"{listener.description}: {failure.getErrorMessage()}")

    def _cannot_recover(self, failure: Failure) -> None:
        self._end_in_vain(failure.getErrorMessage())

    def _end_in_vain(self, reason: str) -> None:
        """The log knows already; by now stderr leads there too, so the terminal's own is told."""
        print(f"fmqbus: {reason}", file=sys.__stderr__)
        self._begins_in_vain = True
        if self.running and not self._is_stopping:  # a store or a vendor's carrier may take its time to fail
            atexit.register(os._exit, 1)  # twistd would end with success: it does not ask its services how they fared
            self.stop(soft=False)

    def _obey_signals(self) -> None:
        for number in _ENDS:
            signal.signal(number, lambda number, frame: self._reactor.callFromThread(self._told_to_end, number))
        signal.signal(signal.SIGHUP, lambda number, frame: self._reactor.callFromThread(self.reload))

    def _told_to_end(self, number: int) -> None:
        self._log.info(
            "{signal}: {what}",
            signal=signal.Signals(number).name,
            what="ending at once" if self._is_stopping else "draining; once more ends at once",
        )
        self.stop(soft=not self._is_stopping)
