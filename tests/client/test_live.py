"""The client and the bus over real sockets, by every kind of URL."""

from __future__ import annotations

import subprocess
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import attrs
import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.error import TimeoutError

import fmqbus
from fmqbus.client.events import Message
from fmqbus.client.fmqp import FMQPClient
from fmqbus.client.url import parse_url
from tests.client.live_bus import bus_at, running, tls_listen
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.transports.certificates import issue


def connected(target: Any) -> AbstractAsyncContextManager[FMQPClient]:
    """A connected client of the bus at a URL or endpoint."""
    return running(FMQPClient(target, reactor))


async def exchange(url: str) -> None:
    """Let one client publish on demand what another wants, and see it arrive whole and in order."""
    async with connected(url) as publisher, connected(url) as subscriber:
        payloads = [b"%d" % number * 1000 for number in range(2000)]
        demand = publisher.demand("load/test")
        with subscriber.subscribe("load/*", max_queue=10_000) as subscription:
            await demand.when_wanted().addTimeout(PATIENCE_SECONDS, reactor)
            for payload in payloads:
                await publisher.publish("load/test", payload)
            for payload in payloads:
                assert await anext(subscription) == Message("load/test", payload)
        await demand.when_unwanted().addTimeout(PATIENCE_SECONDS, reactor)


@pytest_twisted.ensureDeferred
async def test_over_tcp() -> None:
    """Eight megabytes: far more than any buffer between the two."""
    async with bus_at("fmqp:tcp:0:interface=127.0.0.1") as (port,):
        await exchange(f"fmqp://127.0.0.1:{port}")


@pytest_twisted.ensureDeferred
async def test_over_a_unix_socket(tmp_path: Path) -> None:
    """With a blank in its path."""
    async with bus_at(f"fmqp:unix:{tmp_path}/a bus"):
        await exchange(f"fmqp+unix://{tmp_path}/a%20bus")


@pytest_twisted.ensureDeferred
async def test_over_tls(tmp_path: Path) -> None:
    """With an authority of our own; the connection closes in good order too."""
    async with bus_at(tls_listen("fmqp", tmp_path)) as (port,):
        await exchange(f"fmqps://127.0.0.1:{port}?ca={tmp_path}/ca.pem")


@pytest_twisted.ensureDeferred
async def test_a_certificate_of_a_stranger_is_refused(tmp_path: Path) -> None:
    """As a failed attempt, not as a connection that was lost; and not at all if nobody minds."""
    (tmp_path / "other.pem").write_bytes(issue("another authority").certificate_pem)
    async with bus_at(tls_listen("fmqp", tmp_path)) as (port,):
        for trust in ("", f"?ca={tmp_path}/other.pem"):
            with pytest.raises(Exception, match="certificate verify failed"):
                async with connected(f"fmqps://127.0.0.1:{port}{trust}"):
                    pass
        async with connected(f"fmqps://127.0.0.1:{port}?insecure=1") as client:
            await client.sync()


@pytest_twisted.ensureDeferred
async def test_a_server_that_never_shakes_hands_is_given_up() -> None:
    """It speaks plain FMQP, hence says nothing at all."""
    async with bus_at("fmqp:tcp:0:interface=127.0.0.1") as (port,):
        impatient = attrs.evolve(parse_url(f"fmqps://127.0.0.1:{port}").endpoint(reactor), seconds=0.05)
        with pytest.raises(TimeoutError, match="no TLS handshake"):
            async with connected(impatient):
                pass


@pytest_twisted.ensureDeferred
async def test_sync_waits_for_all_that_was_published() -> None:
    """What is published before it is there for those who subscribe after it."""
    async with (
        bus_at("fmqp:tcp:0:interface=127.0.0.1") as (port,),
        connected(f"fmqp://127.0.0.1:{port}") as one,
        connected(f"fmqp://127.0.0.1:{port}") as other,
    ):
        for number in range(1000):
            await one.publish(f"kept/{number}", b"x" * 1000, retain=True)
        await one.sync()
        with other.subscribe("kept/*") as kept:
            for _ in range(1000):
                assert (await anext(kept)).retained


@pytest_twisted.ensureDeferred
async def test_the_will_of_a_stopped_client_is_published() -> None:
    """An orderly end is an end (reading 27)."""
    async with bus_at("fmqp:tcp:0:interface=127.0.0.1") as (port,), connected(f"fmqp://127.0.0.1:{port}") as mourner:
        with mourner.subscribe("status/*") as wills:
            await mourner.sync()
            async with connected(f"fmqp://127.0.0.1:{port}") as mortal:
                mortal.set_will("status/mortal", b"gone")
            assert await anext(wills) == Message("status/mortal", b"gone", will=True)


@pytest_twisted.ensureDeferred
async def test_a_restarted_bus_is_found_again() -> None:
    """Subscriptions and watches are there again, without the application's doing."""
    async with bus_at("fmqp:tcp:0:interface=127.0.0.1") as (port,):
        url = f"fmqp://127.0.0.1:{port}"
        client = FMQPClient(url, reactor, retry_policy=lambda attempt: 0.05)
        client.startService()
        subscription, demand = client.subscribe("a/*"), client.demand("a/b")
        await demand.when_wanted().addTimeout(PATIENCE_SECONDS, reactor)
    await demand.when_unwanted().addTimeout(PATIENCE_SECONDS, reactor)
    async with bus_at(f"fmqp:tcp:{port}:interface=127.0.0.1"):
        await demand.when_wanted().addTimeout(PATIENCE_SECONDS, reactor)
        await client.publish("a/b", b"again")
        assert (await anext(subscription)).payload == b"again"
        await client.stopService()


PROGRAM = """
import sys
from twisted.internet import asyncioreactor
asyncioreactor.install()
from twisted.internet import reactor, task
from twisted.internet.defer import ensureDeferred
from fmqbus.client.fmqp import FMQPClient

async def main(reactor):
    client = FMQPClient(sys.argv[1], reactor)
    client.startService()
    with client.subscribe("a/*") as messages:
        await client.publish("a/b", b"hello")
        print((await anext(messages)).payload.decode())
    await client.stopService()

task.react(lambda reactor: ensureDeferred(main(reactor)))
"""


def test_the_client_works_on_the_asyncio_reactor() -> None:
    """In a process of its own, since a process has one reactor."""
    with Broker("--listen", "fmqp:tcp:0:interface=127.0.0.1") as broker:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, f"fmqp://127.0.0.1:{broker.port}"],
            env={"PYTHONPATH": str(Path(fmqbus.__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert (done.stdout, done.stderr, done.returncode) == ("hello\n", "", 0)
