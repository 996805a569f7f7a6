"""Is a session that has ended gone at once, or does it wait in a circle for a collection of garbage?"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config
from fmqbus.app.plugs import find_plugs
from fmqbus.client.fmqp import FMQPClient
from fmqbus.client.micromsg2 import MicroMsg2Client
from fmqbus.client.mtl import MTLClient
from fmqbus.client.umq import UMQClient

LOOKS, LOOK_SECONDS = 100, 0.05


async def fmqp(client: FMQPClient) -> None:
    """Topics, retained values, wills, and the demand."""
    client.subscribe("room/*", callback=lambda message: None)
    client.demand("room/*", callback=lambda change: None)
    client.set_will("room/will", b"gone")
    client.publish("room/1", b"x", retain=True)
    await client.sync()


async def micromsg2(client: MicroMsg2Client) -> None:
    """Wills, queues, and messages that are taken over."""
    client.subscribe("room/*", callback=lambda message: None)
    await client.set_will("room/will", b"gone")
    await client.publish("room/1", b"x")
    await client.send("queue/orders", b"three apples")
    with client.consume("orders") as orders:
        (await anext(orders)).accept()
    await client.sync()


async def umq(client: UMQClient) -> None:
    """Queues too, and calls both ways."""
    client.subscribe("room/*", callback=lambda message: None)
    client.watch("room/*", callback=lambda change: None)
    await client.publish("room/1", b"x")
    await client.enqueue("orders", b"three apples")
    with client.consume("orders") as orders:
        (await anext(orders)).accept()
    await client.serve("double", lambda numbers, _: 2 * numbers[0])
    assert await client.call("double", 21) == 42


async def mtl(client: MTLClient) -> None:
    """Flows of two profiles."""
    with client.subscribe("room/*"):
        await client.sync()
        await client.publish("room/1", b"x")
        await client.enqueue("orders", b"three apples")
        with client.consume("orders") as orders:
            (await anext(orders)).accept()


SPOKEN = [
    pytest.param("fmqp:tcp:0", FMQPClient, "fmqp://127.0.0.1:{}", fmqp, id="fmqp"),
    pytest.param("micromsg2:tcp:0", MicroMsg2Client, "micromsg2://127.0.0.1:{}", micromsg2, id="micromsg2"),
    pytest.param("umq:tcp:0", UMQClient, "ws://127.0.0.1:{}/umq", umq, id="umq"),
    pytest.param("mtl:zmq:0:data=0", MTLClient, "mtl://127.0.0.1:{}", mtl, id="mtl"),
]


@pytest.mark.parametrize(("listen", "make_client", "url", "talk"), SPOKEN)
@pytest_twisted.ensureDeferred
async def test_a_session_that_has_ended_leaves_nothing_to_collect(
    listen: str, make_client: Any, url: str, talk: Callable[[Any], Awaitable[None]]
) -> None:
    """Whatever it was used for. To look for circles among all that a large bus holds takes a second."""
    bus = Bus(reactor, Config(listen=[listen]), find_plugs())
    bus.startService()
    place: Any = await bus.listeners[0].when_listening()
    port = place.ports["control"] if hasattr(place, "ports") else place.getHost().port
    before = bus.router.sessions()
    client = make_client(url.format(port), reactor)
    client.startService()
    await client.when_connected()
    await talk(client)
    gc.collect()
    gc.disable()
    try:
        sessions = [weakref.ref(session) for session in bus.router.sessions() if session not in before]
        assert sessions
        await client.stopService()
        if make_client is MTLClient:  # whose flows outlive their clients for as long as they have leases
            for session in sessions:
                session().kick("test")  # type: ignore[union-attr]
        for _ in range(LOOKS):
            if not any(session() for session in sessions):
                break
            await deferLater(reactor, LOOK_SECONDS)
        assert [session() for session in sessions] == [None] * len(sessions)
    finally:
        gc.enable()
        await bus.stopService()
