"""What a service topic stands on, in memory."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from zope.interface import implementer

from fmqbus.interfaces import IServiceContext
from fmqbus.testing.bus import make_router


@implementer(IServiceContext)
class MemoryServiceContext:
    """Remembers what a service topic publishes, and whether it ended the broker."""

    def __init__(self) -> None:
        self.clock: Any = Clock()
        self.router: Any = make_router(self.clock)
        #: What was published, as (payload, cached).
        self.published: list[tuple[bytes, bool]] = []
        #: How the broker was asked to end: True for softly.
        self.stops: list[bool] = []

    def publish(self, payload: bytes, cached: bool) -> None:
        self.published.append((payload, cached))

    def connected(self, protocol: str) -> int:
        connected: int = self.router.connected(protocol)
        return connected

    def stop(self, soft: bool) -> None:
        self.stops.append(soft)
