"""The MTL client and the bus over real sockets."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import gatherResults
from twisted.internet.error import TimeoutError

from fmqbus.app.config import Access
from fmqbus.app.config_logins import SASLTable, UsersTable
from fmqbus.auth.user_file import User
from fmqbus.client import sasl
from fmqbus.client.mtl import MTLClient
from fmqbus.client.sasl import Login
from fmqbus.errors import Refused
from fmqbus.limits import MIB
from tests.auth.test_policy import rule
from tests.auth.users import write
from tests.client.live_bus import bus_at, running
from tests.transports.zeromq import keys as keys_module
from tests.transports.zeromq.keys import Keys

ANYWHERE = "mtl:zmq:0:interface=127.0.0.1"
APART = "mtl:zmq:control=0:data=0:interface=127.0.0.1"


@asynccontextmanager
async def connected(port: int, rest: str = "", **options: Any) -> AsyncIterator[MTLClient]:
    """A connected client; it tries again soon."""
    client = MTLClient(f"mtl://127.0.0.1:{port}{rest}", reactor, retry_policy=lambda attempt: 0.05, **options)
    async with running(client):
        yield client


@pytest.mark.parametrize("listen", [ANYWHERE, APART])
@pytest_twisted.ensureDeferred
async def test_topics(listen: str) -> None:
    """In order, whole, however large; what is kept comes first, to everybody who subscribes. The data flows may have a
    port of their own (MTL, Data Flow)."""
    async with bus_at(listen) as (port,), connected(port) as reader, connected(port) as writer:
        await writer.publish("a/kept", b"kept", retain=True, properties={"city": "Bern"})
        with reader.subscribe("a/*", "*/b") as messages, reader.subscribe("a/*") as others:
            large = bytes(range(256)) * (4 * MIB // 256)
            for feed in (messages, others):
                kept = await anext(feed)
                assert (kept.topic, kept.payload, kept.retained) == ("a/kept", b"kept", True)
                assert kept.properties["city"] == "Bern"
            await reader.sync()
            await gatherResults([writer.publish("a/b", b"%d" % number) for number in range(3000)])
            await writer.publish("a/c", large)
            for feed in (messages, others):
                got = [await anext(feed) for _ in range(3001)]
                assert [each.payload for each in got] == [*(b"%d" % number for number in range(3000)), large]


@pytest_twisted.ensureDeferred
async def test_queues() -> None:
    """Each message to one consumer, who says what becomes of it; at most the window is in hand."""
    async with bus_at(ANYWHERE) as (port,), connected(port) as producer, connected(port) as first:
        await gatherResults([producer.enqueue("jobs", b"%d" % number) for number in range(10)])
        taken = first.consume("jobs", window=3)
        in_hand = [await anext(taken) for _ in range(3)]
        assert [each.payload for each in in_hand] == [b"0", b"1", b"2"]
        async with connected(port) as second:
            with second.consume("jobs") as rest:
                assert [(await anext(rest)).payload for _ in range(7)] == [b"%d" % number for number in range(3, 10)]
            in_hand[1].release()
            again = await anext(taken)
            assert (again.payload, again.is_redelivered) == (b"1", True)
            again.accept()
            in_hand[0].reject()


@pytest_twisted.ensureDeferred
async def test_what_is_in_hand_at_the_end_is_another_s_at_once() -> None:
    """He need not wait until the bus finds out that the client has gone."""
    async with bus_at(ANYWHERE) as (port,), connected(port) as second:
        async with connected(port) as first:
            await first.enqueue("jobs", b"1")
            await first.enqueue("jobs", b"2")
            taken = first.consume("jobs")
            assert [(await anext(taken)).payload for _ in range(2)] == [b"1", b"2"]
        rest = second.consume("jobs")
        got = [await anext(rest) for _ in range(2)]
        assert [(each.payload, each.is_redelivered) for each in got] == [(b"1", True), (b"2", True)]


@pytest_twisted.ensureDeferred
async def test_the_profile_of_the_specification() -> None:
    """From all writers to all readers, without confirmations (MTL, The Test Profile)."""
    async with bus_at(ANYWHERE) as (port,), connected(port) as one, connected(port) as other:
        readers = [client.reader("test") for client in (one, other)]
        for reader in readers:
            reader.summon("resource")
        await one.sync()
        await other.sync()
        await one.writer("test", ["resource"]).write("resource", b"x", {"number": 5, "yes": True})
        for reader in readers:
            content = await anext(reader)
            assert (content.resource, content.payload) == ("resource", b"x")
            assert dict(content.properties) == {"number": 5, "yes": True}
        with pytest.raises(Refused, match="501"):
            await one.writer("test", confirm="full").write("resource", b"x")
        with pytest.raises(Refused, match="no profile vendor"):
            await anext(one.reader("vendor"))


@pytest.mark.parametrize(
    "login",
    [
        sasl.password("anna", "open sesame"),
        sasl.password("anna", "open sesame", mechanisms=["PLAIN"]),
        sasl.password("anna", "open sesame", mechanisms=["CRAM-MD5"]),
    ],
    ids=["SCRAM-SHA-256", "PLAIN", "CRAM-MD5"],
)
@pytest_twisted.ensureDeferred
async def test_who_logs_in_may_do_what_the_user_may(tmp_path: Path, login: Login) -> None:
    """And no more: that is told by the Summon, or by a Reject."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    mechanisms = SASLTable(("SCRAM-SHA-256", "PLAIN", "CRAM-MD5"))
    access = Access(("rules",), rules=(rule("allow", "anna/*", who="identity:anna"),))
    async with (
        bus_at(ANYWHERE, access=access, users=users, sasl=mechanisms) as (port,),
        connected(port, credentials=login) as anna,
    ):
        with anna.subscribe("anna/*") as messages:
            await anna.sync()
            await anna.publish("anna/1", b"x")
            assert (await anext(messages)).payload == b"x"
        with pytest.raises(Refused, match="rejects"):
            await anna.publish("bo/1", b"x")
        with pytest.raises(Refused, match="400"):
            await anext(anna.subscribe("bo/*"))


@pytest_twisted.ensureDeferred
async def test_who_does_not_log_in_is_not_let_in(tmp_path: Path) -> None:
    """Nor is he who has a wrong password, or none of the mechanisms."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    async with bus_at(ANYWHERE, users=users) as (port,):
        for login, said in (
            (None, "we have none"),
            (sasl.password("anna", "wrong"), "the login has failed"),
            (sasl.anonymous(), "ours is by ANONYMOUS"),
        ):
            with pytest.raises(Refused, match=said):
                async with connected(port, credentials=login):
                    pass


@pytest_twisted.ensureDeferred
async def test_a_file_and_a_url_are_enough_to_log_in(tmp_path: Path) -> None:
    """No password is in the URL."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    async with (
        bus_at(ANYWHERE, users=users) as (port,),
        running(MTLClient(f"mtl://anna@127.0.0.1:{port}?password-file={secret}", reactor)) as anna,
    ):
        assert "topic" in anna.profiles


@pytest_twisted.ensureDeferred
async def test_a_key_lets_in_and_proves_who_one_is(tmp_path: Path) -> None:
    """Files that the URL names; whoever has no such key has no broker there. By EXTERNAL the key is a user."""
    keys = Keys(tmp_path)
    own, stranger = keys.client("anna"), keys.client("eve", is_allowed=False)
    for name, pair in (("anna", own), ("eve", stranger)):
        keys_module.write(tmp_path / f"{name}.key_secret", pair.public, pair.secret)
    keys_module.write(tmp_path / "server.key", keys.server.public)
    users = UsersTable(str(write(tmp_path / "users.json", anna=User(external=(f"key:{own.public}",)))))
    access = Access(("rules",), rules=(rule("allow", "anna", who="identity:anna"),))
    listen = f"{ANYWHERE}:curveKey={keys.server_file}:curveClients={keys.clients}"
    url = f"?login=external&server-key={tmp_path / 'server.key'}&key={tmp_path}"
    async with bus_at(listen, access=access, users=users) as (port,):
        async with connected(port, f"{url}/anna.key_secret") as anna:
            await anna.publish("anna", b"x")
        for rest in (f"{url}/eve.key_secret", "?login=external"):
            with pytest.raises(TimeoutError):
                async with connected(port, rest, answer_seconds=0.5):
                    pass


@pytest_twisted.ensureDeferred
async def test_where_nobody_answers_nobody_is_connected() -> None:
    """That takes as long as a broker may take to answer."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TimeoutError):
            async with connected(port, answer_seconds=0.2):
                pass
