"""The UMQ client and the bus over real sockets, by every kind of URL."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import gatherResults
from twisted.internet.error import ConnectError
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.client.umq import Reply, UMQClient
from fmqbus.errors import CallFailed, Refused
from fmqbus.interfaces import IUMQCaller, IUMQMethod
from fmqbus.limits import MIB
from fmqbus.protocols.umq.methods.arguments import Arguments
from tests.client.live_bus import bus_at, running, tls_listen

TCP = "umq:tcp:0:interface=127.0.0.1"


def connected(url: str, **options: Any) -> AbstractAsyncContextManager[UMQClient]:
    """A connected client; it tries again soon."""
    return running(UMQClient(url, reactor, retry_policy=lambda attempt: 0.05, **options))


async def exchange(url: str) -> None:
    """Let one client call what another serves, and hear what it publishes: text, octets and large attachments."""

    def answer(arguments: Sequence[Any], attachments: Sequence[Any]) -> Reply:
        return Reply(sum(arguments), [each[::-1] for each in attachments])

    async with connected(url) as server, connected(url) as caller:
        await server.serve("sum", answer)
        octets = b"\xff" + bytes(range(256)) * (4 * MIB // 256)
        reply = await caller.request("sum", 1, 2, attachments=[octets, b""])
        assert (reply.value, list(reply.attachments)) == (3, [octets[::-1], b""])
        with caller.subscribe("a/*", "*/b") as messages:
            await caller.sync()
            await gatherResults([server.publish("a/b", b"%d" % number) for number in range(1000)])
            await server.publish("a/c", octets)
            got = [await anext(messages) for _ in range(1001)]
        assert [each.payload for each in got] == [*(b"%d" % number for number in range(1000)), octets]


@pytest_twisted.ensureDeferred
async def test_over_tcp() -> None:
    """UMQ, Message encoding: as WebSocket messages; some megabytes, far more than any buffer between the two."""
    async with bus_at(TCP) as (port,):
        await exchange(f"ws://127.0.0.1:{port}/umq")


@pytest_twisted.ensureDeferred
async def test_over_tls(tmp_path: Path) -> None:
    """The certificate is verified."""
    async with bus_at(tls_listen("umq", tmp_path)) as (port,):
        await exchange(f"wss://127.0.0.1:{port}?ca={tmp_path / 'ca.pem'}")


@pytest_twisted.ensureDeferred
async def test_over_a_unix_socket(tmp_path: Path) -> None:
    """Which needs no port."""
    async with bus_at(f"umq:unix:{tmp_path / 'socket'}"):
        await exchange(f"ws+unix://{tmp_path / 'socket'}")


@pytest_twisted.ensureDeferred
async def test_behind_lengths() -> None:
    """UMQ, Message encoding: without any WebSocket."""
    async with bus_at("umq:units:tcp:0:interface=127.0.0.1") as (port,):
        await exchange(f"umq+units://127.0.0.1:{port}")


@pytest_twisted.ensureDeferred
async def test_a_page_that_is_no_bus_is_a_failed_attempt() -> None:
    """With the words of whoever is there."""
    async with bus_at(TCP) as (port,):
        client = UMQClient(f"ws://127.0.0.1:{port}/elsewhere", reactor)
        client.startService()
        with pytest.raises(Refused, match="404"):
            await client.when_connected(attempts=1)
        await client.stopService()


@pytest_twisted.ensureDeferred
async def test_nobody_is_there() -> None:
    """As with any other client."""
    async with bus_at(TCP) as (port,):
        pass
    client = UMQClient(f"ws://127.0.0.1:{port}", reactor)
    client.startService()
    with pytest.raises(ConnectError):
        await client.when_connected(attempts=1)
    await client.stopService()


@pytest_twisted.ensureDeferred
async def test_queues() -> None:
    """What is released comes again, and what is accepted does not."""
    async with bus_at(TCP) as (port,), connected(f"ws://127.0.0.1:{port}") as client:
        await gatherResults([client.enqueue("load", b"1"), client.enqueue("load", b"\xff")])
        with client.consume("load") as deliveries:
            first, second = await anext(deliveries), await anext(deliveries)
            assert (first.payload, second.payload) == (b"1", b"\xff")
            first.release()
            second.accept()
            again = await anext(deliveries)
            assert (again.payload, again.is_redelivered) == (b"1", True)
            again.reject("no use")
            await client.sync()


@pytest_twisted.ensureDeferred
async def test_what_nobody_serves() -> None:
    """The bus's code comes with it."""
    async with bus_at(TCP) as (port,), connected(f"ws://127.0.0.1:{port}") as client:
        with pytest.raises(CallFailed) as failed:
            await client.call("nothing")
        assert failed.value.code == 7


@pytest_twisted.ensureDeferred
async def test_a_callback_that_is_handed_with_a_call_is_called_once() -> None:
    """Whoever calls the method gets the callback's answer; the next one finds that nobody serves it."""
    async with bus_at(TCP) as (port,):
        url = f"ws://127.0.0.1:{port}"
        async with connected(url) as worker, connected(url) as caller:
            id = worker.add_callback(lambda arguments, attachments: Reply(arguments, attachments))
            await worker.call("serve", "work", {"callback": id})
            reply = await caller.request("work", 1, attachments=[b"\xff"])
            assert (reply.value, reply.attachments) == (["work", 1], [b"\xff"])
            with pytest.raises(CallFailed) as failed:
                await caller.call("work", 2)
            assert failed.value.code == 7


class WhoAmIArguments(Arguments, frozen=True):
    """None."""


@implementer(IPlugin, IUMQMethod)
class WhoAmI:
    """A vendor's method, which reads what the client has set."""

    name = "test/who-am-i"
    summary = "what the client tells of itself"
    arguments = WhoAmIArguments

    def call(self, caller: IUMQCaller, arguments: WhoAmIArguments, attachments: Sequence[Any]) -> Any:
        return {name: [value.text, len(value.attachments)] for name, value in caller.attributes.items()}


@pytest_twisted.ensureDeferred
async def test_attributes_are_there_for_the_methods_of_the_bus() -> None:
    """Those that were set before there was a connection too."""
    async with bus_at(TCP, methods=[WhoAmI()]) as (port,):
        client = UMQClient(f"ws://127.0.0.1:{port}", reactor)
        client.set_attribute("name", "till 4")
        async with running(client):
            client.set_attribute("logo", "png", attachments=[b"\xff"])
            client.set_attribute("mood", "good")
            client.unset_attribute("mood")
            await client.call("list")
            assert await client.call("test/who-am-i") == {"name": ["till 4", 0], "logo": ["png", 1]}
            assert dict(client.attributes) == {}
