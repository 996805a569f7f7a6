"""Real brokers of eMQP for the tests that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.live.broker import Broker
from tests.live.emqp_peers import LISTEN, Place


@pytest.fixture(scope="package")
def broker() -> Iterator[Broker]:
    """With all defaults. For many tests; each has queues of its own."""
    with Broker("--listen", LISTEN) as broker:
        yield broker


@pytest.fixture
def place(broker: Broker) -> Iterator[Place]:
    """Peers of it, which go after the test."""
    with Place(broker) as place:
        yield place


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> str:
    """A queue of this test's own."""
    return str(request.node.name)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Start a broker of the test's own: with lines for ``[protocols.emqp]``, and further tables."""
    with ExitStack() as started:

        def start(settings: str = "", tables: str = "", listen: str = LISTEN) -> Broker:
            config = tmp_path / "bus.toml"
            config.write_text(f'listen = ["{listen}"]\n{tables}\n[protocols.emqp]\n{settings}\n')
            return started.enter_context(Broker("--config", str(config)))

        yield start
