"""Clients of a bus in memory, stopped when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import attrs
import pytest

from fmqbus.limits import DEFAULT_LIMITS
from tests.client.memory_bus import MemoryBus
from tests.client.micromsg2_bus import MicroMsg2Bus
from tests.client.mtl_bus import MTLBus
from tests.client.umq_bus import UMQBus


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


@pytest.fixture
def make_server() -> Iterator[Callable[..., MicroMsg2Bus]]:
    """Makes MicroMsg2 servers with what `MicroMsg2Bus` takes; nobody waits for anything when the test is over."""
    made: list[MicroMsg2Bus] = []

    def make(**options: Any) -> MicroMsg2Bus:
        made.append(MicroMsg2Bus(**options))
        return made[-1]

    yield make
    for bus in made:
        bus.client.stopService()


@pytest.fixture
def server(make_server: Callable[..., MicroMsg2Bus]) -> MicroMsg2Bus:
    """A MicroMsg2 server and its client, not yet started."""
    return make_server()


@pytest.fixture
def make_umq_bus() -> Iterator[Callable[..., UMQBus]]:
    """Makes UMQ buses with what `UMQBus` takes; nobody waits for anything when the test is over."""
    made: list[UMQBus] = []

    def make(**options: Any) -> UMQBus:
        made.append(UMQBus(**options))
        return made[-1]

    yield make
    for bus in made:
        bus.client.stopService()


@pytest.fixture
def umq_bus(make_umq_bus: Callable[..., UMQBus]) -> UMQBus:
    """A UMQ bus and its client, not yet started."""
    return make_umq_bus()


@pytest.fixture
def make_mtl_bus() -> Iterator[Callable[..., MTLBus]]:
    """Makes MTL brokers with what `MTLBus` takes; nobody waits for anything when the test is over."""
    made: list[MTLBus] = []

    def make(*target: str, **options: Any) -> MTLBus:
        made.append(MTLBus(*target, **options))
        return made[-1]

    yield make
    for bus in made:
        bus.client.stopService()
        bus.settle()
        bus.clock.advance(bus.client._limits.drain_seconds)
        assert bus.clock.getDelayedCalls() == []


@pytest.fixture
def mtl_bus(make_mtl_bus: Callable[..., MTLBus]) -> MTLBus:
    """An MTL broker and its client, connected."""
    return make_mtl_bus().start()
