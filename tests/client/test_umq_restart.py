"""The UMQ client when its bus is killed and comes back: a real broker, in a process of its own."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost

from fmqbus.client.umq import UMQClient
from fmqbus.waiting import Waiters
from tests.client.live_bus import running
from tests.live.broker import PATIENCE_SECONDS, Broker


class Patience:
    """Waits a little longer before each attempt, and can tell of the third that has failed in a row."""

    def __init__(self) -> None:
        self.attempts: list[int] = []
        self._waiters = Waiters()
        self.third_failed: Deferred[None] = self._waiters.wait()

    def __call__(self, attempt: int) -> float:
        self.attempts.append(attempt)
        if attempt == 3:
            self._waiters.fire()
        return 0.02 * attempt


@pytest_twisted.ensureDeferred
async def test_a_bus_that_is_killed_is_found_again_and_all_is_said_again() -> None:
    """What was under way fails and is not said twice; what is asked meanwhile waits."""
    patience = Patience()
    hanging: list[Deferred[Any]] = []
    cancelled: list[Any] = []

    def hang(*_: Any) -> Deferred[Any]:
        hanging.append(Deferred(cancelled.append))
        return hanging[-1]

    def add(arguments: Sequence[Any], _: Any) -> int:
        return int(sum(arguments))

    with Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker:
        client = UMQClient(f"ws://127.0.0.1:{broker.port}/umq", reactor, retry_policy=patience)
        async with running(client):
            messages, watched = client.subscribe("a/*"), client.watch("a/b")
            await client.serve("sum", add)
            await client.serve("hang", hang)
            await client.set_will("gone", b"1")
            await client.enqueue("work", b"lost with the bus, which keeps it in memory")
            taken = client.consume("work")
            in_hand = await anext(taken)
            called = client.call("hang")
            await client.call("sum", 1)  # so the bus has passed on what was said before
            assert len(hanging) == 1
            await watched.when_wanted().addTimeout(PATIENCE_SECONDS, reactor)

            broker.signal(signal.SIGKILL)
            with pytest.raises(ConnectionLost):
                await called
            assert len(cancelled) == 1
            assert not client.is_connected
            assert not watched.is_wanted
            in_hand.accept()
            waiting = client.call("sum", 1, 2)
            await patience.third_failed.addTimeout(PATIENCE_SECONDS, reactor)
            assert patience.attempts[:3] == [1, 2, 3]
            broker.wait()

            with Broker("--listen", f"umq:tcp:{broker.port}:interface=127.0.0.1") as again:
                assert await waiting.addTimeout(PATIENCE_SECONDS, reactor) == 3
                assert len(hanging) == 1
                await client.sync()
                await watched.when_wanted().addTimeout(PATIENCE_SECONDS, reactor)
                async with running(UMQClient(f"ws://127.0.0.1:{again.port}/umq", reactor)) as other:
                    assert await other.call("sum", 3, 4) == 7
                    await other.publish("a/b", b"again")
                    assert (await anext(messages)).payload == b"again"
                    await other.enqueue("work", b"new")
                    delivery = await anext(taken)
                    assert (delivery.payload, delivery.deliveries) == (b"new", 1)
                    delivery.accept()
                    with other.subscribe("gone") as wills:
                        await other.sync()
                        await client.stopService()
                        assert (await anext(wills)).payload == b"1"
