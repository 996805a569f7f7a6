"""The programs of docs/client.md, as they stand there, each in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet import reactor

import fmqbus
from fmqbus.client.fmqp import FMQPClient
from tests.live.broker import PATIENCE_SECONDS, Broker

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
PRODUCER, SUBSCRIBER, SENDER, CONSUMER, CALLER, TOPICS_AND_QUEUES, PROFILES = re.findall(
    r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL
)


@pytest.fixture
def url() -> Iterator[str]:
    """A bus of its own for each program."""
    with Broker("--listen", "fmqp:tcp:0:interface=127.0.0.1") as broker:
        yield f"fmqp://127.0.0.1:{broker.port}"


@pytest.fixture
def micromsg2_url() -> Iterator[str]:
    """The same for MicroMsg2."""
    with Broker("--listen", "micromsg2:tcp:0:interface=127.0.0.1") as broker:
        yield f"micromsg2://127.0.0.1:{broker.port}"


def start(program: str, url: str) -> subprocess.Popen[str]:
    """Run a program of the page."""
    return subprocess.Popen(
        [sys.executable, "-c", program, url],
        env={**os.environ, "PYTHONPATH": str(Path(fmqbus.__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest_twisted.ensureDeferred
async def test_the_producer_runs_only_while_somebody_listens(url: str) -> None:
    """It says so itself."""
    with start(PRODUCER, url) as child:
        assert child.stdout is not None
        client = FMQPClient(url, reactor)
        client.startService()
        with client.subscribe("room/*") as messages:
            assert (await anext(messages)).payload == b"21.5"
            assert child.stdout.readline() == "somebody listens\n"
        await client.stopService()
        assert child.stdout.readline() == "nobody listens\n"
        child.send_signal(signal.SIGTERM)


@pytest_twisted.ensureDeferred
async def test_the_subscriber_prints_until_closing(url: str) -> None:
    """And ends by itself."""
    with start(SUBSCRIBER, url) as child:
        client = FMQPClient(url, reactor)
        client.startService()
        demand = client.demand("hall/closing")
        await demand.when_wanted().addTimeout(PATIENCE_SECONDS, reactor)
        await client.publish("room/temperature", b"21.5")
        await client.publish("hall/closing", b"now")
        await client.stopService()
        output, _ = child.communicate(timeout=PATIENCE_SECONDS)
    assert (output, child.returncode) == ("room/temperature 21.5\nhall/closing now\n", 0)


def test_what_the_sender_sends_the_consumer_takes(micromsg2_url: str) -> None:
    """All of it, in order."""
    for program, output in (
        (SENDER, []),
        (CONSUMER, [f"order {number} Bern " for number in range(1000)]),
    ):
        with start(program, micromsg2_url) as child:
            said, _ = child.communicate(timeout=PATIENCE_SECONDS)
        assert (said.splitlines(), child.returncode) == (output, 0)


def test_the_caller_gets_what_it_serves() -> None:
    """And what it refuses."""
    with (
        Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker,
        start(CALLER, f"ws://127.0.0.1:{broker.port}/umq") as child,
    ):
        said, _ = child.communicate(timeout=PATIENCE_SECONDS)
    assert said.splitlines() == ["a pot of tea 1", "418 I am a teapot"]


def test_over_mtl_what_is_written_is_read() -> None:
    """Of topics, of queues, and of a profile that has neither."""
    with Broker("--listen", "mtl:zmq:0:interface=127.0.0.1") as broker:
        for program, output in (
            (TOPICS_AND_QUEUES, ["room/temperature 21.5 C", "three apples"]),
            (PROFILES, ["resource hello {'language': 'en', 'tries': 3}"]),
        ):
            with start(program, f"mtl://127.0.0.1:{broker.port}") as child:
                said, _ = child.communicate(timeout=PATIENCE_SECONDS)
            assert (said.splitlines(), child.returncode) == (output, 0)
