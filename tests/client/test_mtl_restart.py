"""The MTL client when its broker is killed and comes back: a real one, in a process of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from fmqbus.auth.user_file import User
from fmqbus.client.mtl import MTLClient
from fmqbus.errors import Refused
from tests.auth.users import write
from tests.client.live_bus import running
from tests.live.broker import PATIENCE_SECONDS, Broker


def patient(waiting: Deferred[None]) -> Deferred[None]:
    """Whoever waits so long waits in vain."""
    return waiting.addTimeout(PATIENCE_SECONDS, reactor)


@pytest_twisted.ensureDeferred
async def test_a_broker_that_is_killed_is_found_again_and_all_is_leased_again() -> None:
    """At once: the client need not ask. What was not confirmed is sent again; what is written meanwhile waits."""
    with Broker("--listen", "mtl:zmq:0:interface=127.0.0.1") as broker:
        client = MTLClient(
            f"mtl://127.0.0.1:{broker.port}",
            reactor,
            retry_policy=lambda attempt: 0.05,
            answer_seconds=2.0,
        )
        async with running(client):
            messages, taken = client.subscribe("a/*"), client.consume("work")
            await client.sync()
            await client.publish("a/b", b"before")
            assert (await anext(messages)).payload == b"before"
            await client.enqueue("work", b"lost with the broker, which keeps it in memory")
            in_hand = await anext(taken)

            gone = client.when_disconnected()
            broker.signal(signal.SIGKILL)
            broker.wait()
            waiting = client.enqueue("work", b"nobody has confirmed it")
            await patient(gone)
            assert not client.is_connected
            in_hand.accept()
            later = client.enqueue("work", b"later")

            with Broker("--listen", f"mtl:zmq:{broker.port}:interface=127.0.0.1"):
                await patient(waiting)
                await patient(later)
                for payload in (b"nobody has confirmed it", b"later"):
                    delivery = await anext(taken)
                    assert (delivery.payload, delivery.deliveries) == (payload, 1)
                    delivery.accept()
                await client.sync()
                await client.publish("a/b", b"after")
                assert (await anext(messages)).payload == b"after"


@pytest_twisted.ensureDeferred
async def test_who_was_removed_is_let_in_no_more(tmp_path: Path) -> None:
    """The flows of a user who is removed end; the client finds out when it asks for them, and logs in again in vain."""
    users, config, secret = (tmp_path / name for name in ("users.json", "bus.toml", "secret"))
    write(users)
    secret.write_text("open sesame\n")
    config.write_text(f'listen = ["mtl:zmq:0:interface=127.0.0.1"]\n[users]\nfile = "{users}"\n')
    with Broker("--config", str(config)) as broker:
        client = MTLClient(
            f"mtl://anna@127.0.0.1:{broker.port}?password-file={secret}",
            reactor,
            retry_policy=lambda attempt: 0.05,
            ping_seconds=1.0,
        )
        async with running(client):
            client.subscribe("a")
            await client.sync()
            gone = client.when_disconnected()
            write(users, bo=User(external=("uid:1",)))
            broker.signal(signal.SIGHUP)
            await patient(gone)
            await deferLater(reactor, 0)  # now it knows itself that it is not connected
            with pytest.raises(Refused, match="the login has failed"):
                await client.when_connected(attempts=1)
