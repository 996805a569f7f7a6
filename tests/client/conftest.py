"""Clients of a bus in memory, stopped when the test is over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import attrs
import pytest

from fmqbus.limits import DEFAULT_LIMITS
from tests.client.memory_bus import MemoryBus


class MakeBus(Protocol):
    """Makes a bus whose client has these limits."""

    def __call__(self, **limits: Any) -> MemoryBus:
        """Return it, with the client not yet started."""


@pytest.fixture
def make_bus() -> Iterator[MakeBus]:
    """Makes buses; nobody waits for anything when the test is over."""
    made: list[MemoryBus] = []

    def make(**limits: Any) -> MemoryBus:
        made.append(MemoryBus(attrs.evolve(DEFAULT_LIMITS, **limits)))
        return made[-1]

    yield make
    for bus in made:
        bus.client.stopService()


@pytest.fixture
def bus(make_bus: MakeBus) -> MemoryBus:
    """A bus and its client, not yet started."""
    return make_bus()
