"""``twistd fmqbus-sealer``: a process that seals a journal again and again, and trims away what is too old."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from twisted.application.internet import TimerService
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python import usage
from twisted.python.failure import Failure

from fmqbus.journal.sealing import Sealed, SealSettings, seal

_log = Logger()


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError("a number above 0")
    return value


class Options(usage.Options):
    """Options of ``twistd fmqbus-sealer``."""

    synopsis = "[options] JOURNAL"
    optParameters: ClassVar = [
        ["every", None, 60.0, "Seconds between two looks.", _positive],
        ["wait", None, 600.0, "Seconds that segments gather into one table.", _positive],
        ["keep", None, None, "Trim away what is older than so many seconds.", _positive],
        ["keep-octets", None, None, "Trim away the oldest beyond so many octets.", _positive],
    ]

    def parseArgs(self, journal: str) -> None:  # type: ignore[override]  # as Twisted has it: by the arguments' number
        """The journal's folder, wherever twistd goes."""
        self["journal"] = Path(journal).absolute()

    def settings(self) -> SealSettings:
        """What sealing takes."""
        octets = self["keep-octets"]
        return SealSettings(
            wait_seconds=self["wait"],
            keep_seconds=self["keep"],
            keep_octets=None if octets is None else int(octets),
        )


class SealerService(TimerService):
    """Seals in a thread, one run after the other. What goes wrong is logged, and tried again at the next look."""

    def __init__(
        self, reactor: Any, journal: Path, settings: SealSettings, every: float, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(every, self.look)
        self.clock = reactor
        self._reactor = reactor
        self._journal = journal
        self._settings = settings
        self._now = now

    def look(self) -> Deferred[None]:
        """Seal and trim what is due. Never fails."""
        sealed = deferToThreadPool(
            self._reactor, self._reactor.getThreadPool(), seal, self._journal, self._settings, self._now()
        )
        return sealed.addCallbacks(self._tell, self._failed)

    def _tell(self, sealed: Sealed) -> None:
        for line in sealed.tables:
            _log.info("sealed {file}: {rows} rows", file=line.file, rows=line.end - line.first)
        for line in sealed.trimmed:
            _log.info("trimmed {file}", file=line.file)
        for fault in sealed.faults:
            _log.error("{fault}", fault=fault)

    def _failed(self, failure: Failure) -> None:
        _log.error("{reason}", reason=failure.getErrorMessage())


def makeService(options: Options) -> SealerService:
    """Return the service for twistd to run."""
    from twisted.internet import reactor  # the place where the process's reactor is chosen

    return SealerService(reactor, options["journal"], options.settings(), options["every"])
