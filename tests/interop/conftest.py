"""Brokers of ours, and EventMQ's programs around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.programs import Programs
from tests.live.broker import Broker
from tests.live.emqp_peers import LISTEN


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Start a broker: with lines for ``[protocols.emqp]``, and further tables."""
    with ExitStack() as started:

        def start(settings: str = "", tables: str = "", listen: str = LISTEN) -> Broker:
            config = tmp_path / "bus.toml"
            config.write_text(f'listen = ["{listen}"]\n{tables}\n[protocols.emqp]\n{settings}\n')
            return started.enter_context(Broker("--config", str(config)))

        yield start


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    """To start EventMQ's; they end after the test."""
    with Programs(tmp_path) as programs:
        yield programs
