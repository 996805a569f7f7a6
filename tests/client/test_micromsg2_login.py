"""MicroMsg2 clients that log in to a real bus. (docs/protocols/micromsg2.md, Logging in)"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.error import TimeoutError
from twisted.internet.protocol import Factory, Protocol

from fmqbus.app.config import Access
from fmqbus.app.config_logins import SASLTable, UsersTable
from fmqbus.auth.user_file import User
from fmqbus.client import sasl
from fmqbus.client.micromsg2 import MicroMsg2Client
from fmqbus.errors import PeerError, Refused
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.extensions.sasl import Word
from tests.auth.test_policy import rule
from tests.auth.users import write
from tests.client.live_bus import bus_at, running, tls_listen
from tests.protocols.micromsg2.written import error, extension, handshake

TCP = "micromsg2:tcp:0:interface=127.0.0.1"
RULES = Access(authorizers=("rules",), rules=(rule("allow", "anna", who="identity:anna"),))
ALL = SASLTable(("SCRAM-SHA-256", "EXTERNAL", "PLAIN", "CRAM-MD5", "ANONYMOUS"))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "PLAIN", "CRAM-MD5"])
@pytest_twisted.ensureDeferred
async def test_by_a_password(tmp_path: Path, mechanism: str) -> None:
    """Whichever mechanism it is, the client is who it says from its first message on."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    async with bus_at(TCP, access=RULES, users=users, sasl=ALL) as (port,):
        said = sasl.password("anna", "open sesame", mechanisms=[mechanism])
        async with running(MicroMsg2Client(f"micromsg2://127.0.0.1:{port}", reactor, credentials=said)) as anna:
            await anna.publish("anna", b"x")
        async with running(MicroMsg2Client(f"micromsg2://127.0.0.1:{port}", reactor)) as nobody:
            with pytest.raises(Refused):
                await nobody.publish("anna", b"x")


@pytest_twisted.ensureDeferred
async def test_by_a_wrong_one(tmp_path: Path) -> None:
    """There is no connection then, and the bus's words say why."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    async with bus_at(TCP, users=users) as (port,):
        said = sasl.password("anna", "wrong")
        client = MicroMsg2Client(f"micromsg2://127.0.0.1:{port}", reactor, credentials=said)
        client.startService()
        with pytest.raises(Refused, match="the login has failed"):
            await client.when_connected(attempts=1)
        await client.stopService()


@pytest_twisted.ensureDeferred
async def test_by_what_the_carrier_vouches_for(tmp_path: Path) -> None:
    """The UNIX user that runs this test."""
    users = UsersTable(str(write(tmp_path / "users.json", anna=User(external=(f"uid:{os.geteuid()}",)))))
    async with bus_at(f"micromsg2:unix:{tmp_path / 'socket'}", access=RULES, users=users):
        url = f"micromsg2+unix://{tmp_path / 'socket'}"
        async with running(MicroMsg2Client(url, reactor, credentials=sasl.external())) as anna:
            await anna.publish("anna", b"x")


@pytest_twisted.ensureDeferred
async def test_a_password_is_shown_behind_tls(tmp_path: Path) -> None:
    """Nobody else can listen there."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    async with bus_at(tls_listen("micromsg2", tmp_path), access=RULES, users=users) as (port,):
        said = sasl.password("anna", "open sesame", mechanisms=["PLAIN"])
        url = f"micromsg2s://127.0.0.1:{port}?ca={tmp_path / 'ca.pem'}"
        async with running(MicroMsg2Client(url, reactor, credentials=said)) as anna:
            await anna.publish("anna", b"x")


class _False(Protocol):
    """A bus that shakes hands, and then says this whatever is said to it."""

    said = b""

    def connectionMade(self) -> None:
        self.heard = b""

    def dataReceived(self, data: bytes) -> None:
        steps = handshake(b"batch-ack:max-count=100;pubsub;x-sasl", b"", b"fmqbus")
        was_silent, self.heard = not self.heard, self.heard + data
        assert self.transport is not None
        self.transport.write(steps if was_silent else self.said)


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (extension(3, bytes([Word.ADMITTED])), PeerError),
        (extension(3, bytes([Word.ADMITTED]) + b"v=bm8="), PeerError),
        (extension(3, bytes([Word.CHALLENGE]) + b"r=x,s=eA==,i=1"), PeerError),
        (extension(3, bytes([Word.BEGIN]) + b"PLAIN"), PeerError),
        (error(b"go away"), Refused),
        (extension(3, b"\xff"), TimeoutError),
    ],
    ids=["no proof", "a false proof", "a nonce that is not ours", "the client's word", "an error", "an unknown word"],
)
@pytest_twisted.ensureDeferred
async def test_a_false_bus_is_not_believed(said: bytes, fault: type[Exception]) -> None:
    """The client goes, and says nothing that it would say to its own bus."""
    factory: Factory = Factory.forProtocol(type("False_", (_False,), {"said": said}))
    port = reactor.listenTCP(0, factory, interface="127.0.0.1")  # type: ignore[attr-defined]
    client = MicroMsg2Client(
        f"micromsg2://127.0.0.1:{port.getHost().port}",
        reactor,
        credentials=sasl.password("anna", "open sesame"),
        limits=Limits(handshake_seconds=0.5),
    )
    client.startService()
    with pytest.raises(fault):
        await client.when_connected(attempts=1)
    await client.stopService()
    await port.stopListening()
