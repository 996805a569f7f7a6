"""A bus on which something is scheduled, and a wall clock that can be set, or be found much later after a sleep."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from twisted.internet.task import Clock

from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router

STOCKHOLM = "Europe/Stockholm"


def at(text: str, fold: int = 0) -> float:
    """The time on a clock in Stockholm; `fold` is 1 for the second coming of an hour."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(STOCKHOLM), fold=fold).timestamp()


class ScheduledBus:
    """A bus that has begun at a time, and a client of it who takes all that comes into the queue ``q``."""

    def __init__(self, start: float | str = "2026-11-01T00:00", **options: Any) -> None:
        self.clock = Clock()
        self._offset = at(start) if isinstance(start, str) else start
        self.router: Router = make_router(self.clock, wall=self.now, **options)
        self.router.startService()
        self.client = MemoryClient(self.router)
        self.consumer = self.client.consume(b"q", window=10_000)

    def now(self) -> float:
        """What the wall clock shows."""
        return self._offset + self.clock.seconds()

    def set_clock(self, seconds: float) -> None:
        """The wall clock is set by so much, or goes on after a sleep of the whole machine."""
        self._offset += seconds

    def pass_(self, seconds: float, step: float = 1.0) -> list[bytes]:
        """Let time pass; returns the payloads that have come meanwhile."""
        self.clock.pump([0.0, *[step] * round(seconds / step), 0.0])
        return self.heard()

    def heard(self) -> list[bytes]:
        """The payloads that have come since this was last asked, all of them accepted."""
        self.client.settle(self.consumer)
        payloads = self.client.taken_payloads
        self.client.taken.clear()
        return payloads

    def times(self, seconds: float, step: float) -> list[str]:
        """What a clock in Stockholm shows whenever something comes while so much time passes."""
        shown: list[str] = []
        for _ in range(round(seconds / step)):
            if self.pass_(step, step):
                shown.append(datetime.fromtimestamp(self.now(), ZoneInfo(STOCKHOLM)).strftime("%d %H:%M"))
        return shown

    @property
    def failed(self) -> Mapping[str, int]:
        """Runs that came to nothing, by reason."""
        return self.router.scheduling.failed
