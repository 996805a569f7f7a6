"""Who is let in by a password, and does it stay so?"""

from __future__ import annotations

import socket as sockets
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import pytest_twisted
import zmq
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from fmqbus.auth.sasl.external import EXTERNAL
from fmqbus.auth.sasl.logins import Logins
from fmqbus.auth.sasl.plain import PLAIN
from fmqbus.auth.user_file import User
from fmqbus.errors import ConfigError
from fmqbus.interfaces import ILogins
from fmqbus.limits import Limits
from fmqbus.transports.facts import host_of
from tests.auth.users import keys, users_of
from tests.transports.zeromq.keys import Keys
from tests.transports.zeromq.live import Place, turn, until

Listen = Callable[..., Place]
TEXT = "quiet:zmq:frontend=0:pubout=0:login=plain"


def make_logins(*mechanisms: Any) -> Logins:
    """Of the usual users."""
    return Logins(reactor, mechanisms or (PLAIN, EXTERNAL), users_of(), Limits(), host_of)


@pytest_twisted.async_yield_fixture()
async def logins() -> AsyncIterator[Logins]:
    """For a place."""
    yield make_logins()


def by(name: str, password: str) -> dict[str, bytes]:
    """What a raw peer has to be given."""
    return {"plain_username": name.encode(), "plain_password": password.encode()}


@pytest_twisted.ensureDeferred
async def test_a_user_is_let_in_by_the_password_and_known_by_name(listen: Listen, logins: Logins) -> None:
    """With the groups that the file knows."""
    place = listen(TEXT, logins=logins)
    place.peer(**by("anna", "open sesame")).send(b"x")
    await until(lambda: place.protocol.heard)
    facts = place.protocol.heard[0][3].facts
    assert (facts.user, facts.groups) == ("anna", frozenset({"ops", "staff"}))
    assert facts.carrier == "tcp"


@pytest_twisted.ensureDeferred
async def test_nobody_else_is_let_in(listen: Listen, logins: Logins) -> None:
    """Not by another password, another name, none at all, or a key."""
    place = listen(TEXT, logins=logins)
    place.peer(**by("anna", "close sesame")).send(b"x")
    place.peer(**by("nobody", "open sesame")).send(b"x")
    place.peer(**by("anna\0bo", "tiger")).send(b"x")
    place.peer().send(b"x")
    public, secret = zmq.curve_keypair()
    place.peer(curve_serverkey=public, curve_publickey=public, curve_secretkey=secret).send(b"x")
    await until(lambda: place.listener.refusals["handshake"] >= 2 and place.listener.refusals["credentials"] == 2)
    assert place.listener.refusals["unreadable"] == 1
    place.peer(**by("bo", "tiger")).send(b"y")
    await until(lambda: place.protocol.heard)
    assert place.protocol.parts == [[b"y"]]


@pytest_twisted.ensureDeferred
async def test_a_user_of_whom_the_file_says_something_else_is_out_at_once(listen: Listen, logins: Logins) -> None:
    """Whoever knows the new password is let in by it, and is another one than before; others stay."""
    place = listen(TEXT, logins=logins)
    former = place.peer(identity=b"former", **by("anna", "open sesame"))
    other = place.peer(identity=b"bo", **by("bo", "tiger"))
    for peer in (former, other):
        peer.send(b"1")
    await until(lambda: len(place.protocol.heard) == 2)
    logins.exchange_users(users_of(anna=User((), keys("shut")), bo=logins.users.record_of("bo") or User()))
    former.send(b"2")
    await until(lambda: place.listener.connections == 1)
    place.peer(**by("anna", "shut")).send(b"3")
    other.send(b"4")
    await until(lambda: len(place.protocol.heard) == 4)
    assert sorted(parts for _, _, parts, _ in place.protocol.heard) == [[b"1"], [b"1"], [b"3"], [b"4"]]
    assert {origin.facts.user: origin.facts.groups for *_, origin in place.protocol.heard[2:]} == {
        "anna": frozenset(),
        "bo": frozenset(),
    }


@pytest_twisted.ensureDeferred
async def test_nobody_says_himself_who_he_is(listen: Listen, logins: Logins) -> None:
    """In a handshake, a peer can give its connection any properties; those that we go by are not its to give."""
    place = listen(TEXT, logins=logins)
    place.peer(**by("anna", "open sesame")).send(b"x")
    await until(lambda: place.protocol.heard)
    properties = {"Socket-Type": "DEALER", "User-Id": "1", "Peer-Address": "10.0.0.1", "__fd": "1"}
    with sockets.create_connection(("127.0.0.1", place.port())) as peer:
        await deferToThread(lambda: log_in(peer, "bo", "tiger", properties))
        await until(lambda: len(place.protocol.heard) == 2)
    facts = place.protocol.heard[1][3].facts
    assert (facts.user, facts.address) == ("bo", "127.0.0.1")


def log_in(peer: sockets.socket, name: str, password: str, properties: Mapping[str, str]) -> None:
    """PLAIN by hand, with these properties, and one message (ZMTP 3.0; ZeroMQ's RFC 24)."""
    peer.settimeout(10)
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"PLAIN".ljust(20, b"\0") + bytes(32))
    peer.sendall(command(b"HELLO", *(bytes([len(text)]) + text.encode() for text in (name, password))))
    hear(peer, b"WELCOME")
    said = [
        bytes([len(key)]) + key.encode() + len(value).to_bytes(4, "big") + value.encode()
        for key, value in properties.items()
    ]
    peer.sendall(command(b"INITIATE", *said))
    hear(peer, b"READY")
    peer.sendall(b"\0\1x")


def hear(peer: sockets.socket, word: bytes) -> None:
    """Read until it has come."""
    heard = b""
    while word not in heard:
        octets = peer.recv(1000)
        assert octets, heard
        heard += octets


def command(name: bytes, *fields: bytes) -> bytes:
    """One of ZMTP's."""
    body = bytes([len(name)]) + name + b"".join(fields)
    return b"\x04" + bytes([len(body)]) + body


@pytest_twisted.ensureDeferred
async def test_guesses_are_slowed_down(listen: Listen, logins: Logins) -> None:
    """As in any login; whoever has to wait is told nothing, and tries again by himself."""
    place = listen(TEXT, logins=logins)
    for number in range(7):
        place.peer(**by("anna", f"guess {number}"))
        await until(lambda: sum(place.listener.refusals.values()) > number)  # noqa: B023
    assert place.listener.refusals == {"credentials": 6, "paused": 1}


@pytest_twisted.ensureDeferred
async def test_to_hash_a_password_holds_up_nobody(listen: Listen) -> None:
    """It is done in a thread."""
    slow = Logins(reactor, (PLAIN,), users_of(anna=User((), keys("open sesame"))), Limits(), host_of)
    place = listen(TEXT, logins=slow)
    for _ in range(20):
        place.peer(**by("anna", "open sesame")).send(b"x")
    await until(lambda: len(place.protocol.heard) == 20)
    assert len({id(origin) for *_, origin in place.protocol.heard}) == 1


@pytest.mark.parametrize("logins", [None, make_logins(EXTERNAL)])
def test_without_passwords_there_is_no_login(logins: ILogins | None) -> None:
    """That is found out before anything listens."""
    with pytest.raises(ConfigError, match=r"login=plain needs PLAIN in sasl\.mechanisms"):
        Place(TEXT, logins=logins)


@pytest_twisted.ensureDeferred
async def test_a_key_that_the_file_has_for_one_user_proves_that_user(
    listen: Listen, logins: Logins, tmp_path: Any
) -> None:
    """Without a word, for eMQP has none. What the file says later holds for later messages."""
    folder = Keys(tmp_path)
    own = folder.client("robot")
    place = listen(f"quiet:zmq:0:curveKey={folder.server_file}:curveClients={folder.clients}", logins=logins)
    peer = place.peer(**folder.options(own))

    async def user_of_the_next() -> Any:
        heard = len(place.protocol.heard)
        peer.send(b"x")
        await until(lambda: len(place.protocol.heard) > heard)
        facts = place.protocol.heard[-1][3].facts
        assert facts.curve_key == own.public
        return facts.user, set(facts.groups)

    assert await user_of_the_next() == (None, set())
    place.listener.reload()
    logins.exchange_users(users_of(robot=User(("devices",), external=(f"key:{own.public}",))))
    assert await user_of_the_next() == ("robot", {"devices"})
    logins.exchange_users(users_of(robot=User((), external=(f"key:{own.public}",))))
    assert await user_of_the_next() == ("robot", set())
    logins.exchange_users(users_of(bo=User((), keys("tiger"))))
    assert await user_of_the_next() == (None, set())
    assert place.listener.connections == 1
    await turn(0)
