"""The MicroMsg2 client and the bus over real sockets, by every kind of URL."""

from __future__ import annotations

import signal
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults

from fmqbus.client.fmqp import FMQPClient
from fmqbus.client.micromsg2 import MicroMsg2Client
from fmqbus.errors import Refused
from fmqbus.limits import MIB
from tests.client.live_bus import bus_at, running, tls_listen
from tests.live.broker import PATIENCE_SECONDS, Broker

TCP = "micromsg2:tcp:0:interface=127.0.0.1"


def connected(url: str, **options: Any) -> AbstractAsyncContextManager[MicroMsg2Client]:
    """A connected client; it tries again soon."""
    return running(MicroMsg2Client(url, reactor, retry_policy=lambda attempt: 0.05, **options))


async def exchange(url: str) -> None:
    """Let one client send what another consumes, and see it arrive whole and in order."""
    async with connected(url, window=10) as producer, connected(url) as consumer:
        payloads = [b"%d" % number * 1000 for number in range(1000)]
        sent = []
        with consumer.consume("load") as deliveries:
            for payload in payloads:
                await producer.when_room()
                sent.append(producer.send("queue/load", payload))
            for payload in payloads:
                delivery = await anext(deliveries)
                assert delivery.payload == payload
                delivery.accept()
        await gatherResults(sent)


@pytest_twisted.ensureDeferred
async def test_over_tcp() -> None:
    """Four megabytes: far more than any buffer between the two."""
    async with bus_at(TCP) as (port,):
        await exchange(f"micromsg2://127.0.0.1:{port}")


@pytest_twisted.ensureDeferred
async def test_over_a_unix_socket(tmp_path: Path) -> None:
    """With a blank in its path."""
    async with bus_at(f"micromsg2:unix:{tmp_path}/a bus"):
        await exchange(f"micromsg2+unix://{tmp_path}/a%20bus")


@pytest_twisted.ensureDeferred
async def test_over_tls(tmp_path: Path) -> None:
    """With an authority of our own; the connection closes in good order too."""
    async with bus_at(tls_listen("micromsg2", tmp_path)) as (port,):
        await exchange(f"micromsg2s://127.0.0.1:{port}?ca={tmp_path}/ca.pem")


@pytest_twisted.ensureDeferred
async def test_large_messages_go_both_ways() -> None:
    """In several frames, through windows that are smaller."""
    async with bus_at(TCP) as (port,), connected(f"micromsg2://127.0.0.1:{port}", window=2) as client:
        payload = bytes(range(256)) * 4 * 1024 * 5
        assert len(payload) == 5 * MIB
        with client.consume("large") as deliveries:
            await client.send("large", payload)
            delivery = await anext(deliveries)
            delivery.accept()
        assert delivery.payload == payload


@pytest_twisted.ensureDeferred
async def test_what_one_consumer_leaves_another_gets() -> None:
    """Whether he stops consuming or goes away."""
    async with bus_at(TCP) as (port,):
        url = f"micromsg2://127.0.0.1:{port}"
        async with connected(url) as producer, connected(url) as heir:
            async with connected(url) as leaver:
                await producer.send("work", b"1")
                with leaver.consume("work") as deliveries:
                    assert (await anext(deliveries)).deliveries == 1
                await leaver.when_connected()
                again = await anext(leaver.consume("work"))
                assert again.is_redelivered
                inherited = heir.consume("work")
            delivery = await anext(inherited)
            assert (delivery.payload, delivery.deliveries) == (b"1", 3)
            delivery.accept()
            inherited.stop()


@pytest_twisted.ensureDeferred
async def test_topics_and_wills_cross_to_other_protocols() -> None:
    """With properties where there are any."""
    async with bus_at(TCP, "fmqp:tcp:0:interface=127.0.0.1") as (port, fmqp_port):
        fmqp = FMQPClient(f"fmqp://127.0.0.1:{fmqp_port}", reactor)
        fmqp.startService()
        messages = fmqp.subscribe("status/*")
        await fmqp.sync()
        async with connected(f"micromsg2://127.0.0.1:{port}") as client:
            await client.set_will("status/mortal", b"gone")
            with client.subscribe("status/*", filters=["level>=N3"]) as severe:
                await client.publish("status/mortal", b"well", properties={"level": "1"})
                await client.publish("status/mortal", b"ill", properties={"level": "3"})
                message = await anext(severe)
                assert (message.payload, message.properties) == (b"ill", {"level": "3"})
        assert [(await anext(messages)).payload for _ in range(3)] == [b"well", b"ill", b"gone"]
        await fmqp.stopService()


@pytest_twisted.ensureDeferred
async def test_what_the_bus_refuses_is_told_and_the_client_goes_on() -> None:
    """To the sender, and to who wants to consume."""
    async with bus_at(TCP) as (port,), connected(f"micromsg2://127.0.0.1:{port}") as client:
        with pytest.raises(Refused, match=r"message 1: .* below \$"):
            await client.send("queue/$/a", b"1")
        await client.send("queue/a", b"2")
        with pytest.raises(Refused, match=r"subscribe queue/\$/a: "):
            await anext(client.consume("$/a"))
        delivery = await anext(client.consume("a"))
        assert delivery.payload == b"2"


@pytest_twisted.ensureDeferred
async def test_no_message_is_lost_with_a_bus_that_is_killed(tmp_path: Path) -> None:
    """What it had acknowledged is on its disk, and what it had not is sent again, in order."""
    config = tmp_path / "bus.toml"
    config.write_text(f'message_store = "sqlite"\n[stores.sqlite]\npath = "{tmp_path}/bus.db"\n')
    with Broker("--config", str(config), "--listen", TCP) as broker:
        url = f"micromsg2://127.0.0.1:{broker.port}"
        client = MicroMsg2Client(url, reactor, retry_policy=lambda attempt: 0.05)
        client.startService()
        for number in range(500):
            await client.when_room()
            client.send("queue/q", b"%d" % number)
        lost = client.when_disconnected()
        broker.signal(signal.SIGKILL)
        await lost
    for number in range(500, 1000):
        client.send("queue/q", b"%d" % number)
    with Broker("--config", str(config), "--listen", f"micromsg2:tcp:{broker.port}:interface=127.0.0.1"):
        await Deferred.fromCoroutine(client.sync()).addTimeout(PATIENCE_SECONDS, reactor)
        arrived: dict[int, None] = {}
        with client.consume("q") as deliveries:
            async for delivery in deliveries:
                arrived[int(delivery.payload)] = None
                delivery.accept()
                if delivery.payload == b"999":
                    break
        await client.stopService()
    assert list(arrived) == list(range(1000))
