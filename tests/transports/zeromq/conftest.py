"""Listeners on ZeroMQ, started for a test and stopped with it; nothing may have been logged as an error."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_twisted

from tests.transports.zeromq.live import Place, failures


@pytest.fixture
def errors() -> Iterator[list[str]]:
    """Whatever was logged as an error. A test that expects some takes them out."""
    yield from failures()


@pytest_twisted.async_yield_fixture()
async def listen(errors: list[str]) -> AsyncIterator[Callable[..., Place]]:
    """Starts places."""
    started: list[Place] = []

    def start(*arguments: str, **limits: Any) -> Place:
        started.append(Place(*arguments, **limits))
        return started[-1]

    yield start
    for place in started:
        await place.stop()
    assert errors == []
