"""Who is let in by CURVE, and does it stay so?"""

from __future__ import annotations

import socket as sockets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
import zmq
from twisted.internet.defer import Deferred, fail

from fmqbus.errors import ConfigError
from fmqbus.transports.zeromq import doorkeeper
from fmqbus.transports.zeromq.keys import KeyPair
from fmqbus.transports.zeromq.zap import Request
from tests.transports.zeromq.keys import Keys, write
from tests.transports.zeromq.live import Place, received, turn, until

Listen = Callable[..., Place]


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    """A server's key and a folder for those of clients."""
    return Keys(tmp_path)


def text(keys: Keys, names: str = "frontend=0:backend=0:pubout=0") -> str:
    """A listen string."""
    return f"quiet:zmq:{names}:curveKey={keys.server_file}:curveClients={keys.clients}"


@pytest_twisted.ensureDeferred
async def test_whoever_has_a_key_of_the_folder_is_let_in_and_known_by_it(listen: Listen, keys: Keys) -> None:
    """The link is private."""
    anna, bert = keys.client("anna"), keys.client("bert")
    place = listen(text(keys))
    for own in (anna, bert):
        place.peer(**keys.options(own)).send(own.public.encode())
    await until(lambda: len(place.protocol.heard) == 2)
    for _, _, parts, origin in place.protocol.heard:
        assert origin.facts.curve_key == parts[0].decode()
        assert origin.facts.carrier == "curve"
        assert origin.facts.address == "127.0.0.1"
        assert origin.socket_type == "DEALER"


@pytest_twisted.ensureDeferred
async def test_nobody_else_is_let_in(listen: Listen, keys: Keys) -> None:
    """Not with another key, another server's, none at all, or a password; each is counted."""
    anna, eve = keys.client("anna"), keys.client("eve", is_allowed=False)
    place = listen(text(keys))
    place.peer(**keys.options(eve)).send(b"another key")
    place.peer(**keys.options(anna, KeyPair.new())).send(b"another server")
    place.peer().send(b"in the clear")
    place.peer(plain_username=b"anna", plain_password=b"x").send(b"by password")
    await until(lambda: place.listener.refusals["key"] == 1 and place.listener.refusals["handshake"] >= 3)
    place.peer(**keys.options(anna)).send(b"anna")
    await until(lambda: place.protocol.heard)
    await turn(0.2)
    assert place.protocol.parts == [[b"anna"]]


@pytest_twisted.ensureDeferred
async def test_subscribers_are_let_in_by_their_keys_too(listen: Listen, keys: Keys) -> None:
    """What is published reaches nobody else."""
    anna, eve = keys.client("anna"), keys.client("eve", is_allowed=False)
    place = listen(text(keys))
    known, stranger = (place.peer(zmq.SUB, "pubout", **keys.options(own)) for own in (anna, eve))
    for one in (known, stranger):
        one.subscribe(b"")
    await until(lambda: place.protocol.heard and place.listener.refusals["key"])
    assert place.protocol.heard[0][3].facts.curve_key == anna.public
    place.socket("pubout").send(b"", [b"x"])
    await until(lambda: known.poll(0))
    assert not stranger.poll(50)


@pytest_twisted.ensureDeferred
async def test_without_a_folder_any_key_is_let_in_and_known(listen: Listen, keys: Keys) -> None:
    """Rules can tell them apart by it."""
    eve = keys.client("eve", is_allowed=False)
    place = listen(f"quiet:zmq:0:curveKey={keys.server_file}")
    place.peer(**keys.options(eve)).send(b"x")
    await until(lambda: place.protocol.heard)
    assert place.protocol.heard[0][3].facts.curve_key == eve.public


@pytest_twisted.ensureDeferred
async def test_a_key_that_is_added_is_let_in_after_a_reload(listen: Listen, keys: Keys) -> None:
    """Those who are inside notice nothing."""
    anna = keys.client("anna")
    place = listen(text(keys))
    first = place.peer(identity=b"anna", **keys.options(anna))
    first.send(b"1")
    await until(lambda: place.protocol.heard)
    bert = keys.client("bert")
    place.listener.reload()
    place.peer(**keys.options(bert)).send(b"2")
    await until(lambda: len(place.protocol.heard) == 2)
    assert place.listener.connections == 2
    place.socket().send(b"anna", [b"y"])
    await until(lambda: first.poll(0))


@pytest_twisted.ensureDeferred
async def test_a_key_that_is_removed_is_out_at_once(listen: Listen, keys: Keys) -> None:
    """Its next message is thrown away, and its connections are cut off. The others stay."""
    anna, eve = keys.client("anna"), keys.client("eve")
    place = listen(text(keys))
    honest = place.peer(identity=b"anna", **keys.options(anna))
    former = place.peer(identity=b"eve", **keys.options(eve))
    for one in (honest, former):
        one.send(b"1")
    await until(lambda: len(place.protocol.heard) == 2)
    (keys.clients / "eve.key").unlink()
    former.send(b"2")
    place.listener.reload()
    await until(lambda: place.listener.refusals["key"] == 1 and place.listener.connections == 1)
    honest.send(b"3")
    await until(lambda: len(place.protocol.heard) >= 3)
    assert sorted(place.protocol.parts) in ([[b"1"], [b"1"], [b"2"], [b"3"]], [[b"1"], [b"1"], [b"3"]])
    place.socket().send(b"anna", [b"y"])
    await until(lambda: honest.poll(0))


@pytest_twisted.ensureDeferred
async def test_one_after_the_other_is_out_at_once(listen: Listen, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second does not have to wait until the first has been looked for once more."""
    monkeypatch.setattr(doorkeeper, "CHECK_AGAIN_SECONDS", 1000.0)
    place = listen(text(keys))
    for name in ("anna", "bo", "eve"):
        own = keys.client(name)
        place.listener.reload()
        place.peer(**keys.options(own)).send(b"1")
    await until(lambda: len(place.protocol.heard) == 3)
    for number, name in enumerate(("bo", "eve"), 1):
        (keys.clients / f"{name}.key").unlink()
        place.listener.reload()
        await until(lambda: place.listener.refusals["key"] == number)  # noqa: B023
    await until(lambda: place.listener.connections == 1)


@pytest_twisted.ensureDeferred
async def test_what_a_removed_key_has_sent_before_it_was_cut_off_is_thrown_away(listen: Listen, keys: Keys) -> None:
    """Counted by its own word."""
    keys.client("anna")
    eve = keys.client("eve")
    place = listen(text(keys))
    peer = place.peer(**keys.options(eve))
    peer.send(b"1")
    await until(lambda: place.protocol.heard)
    place.socket().pause_reading()
    peer.send(b"2")
    await turn(0.1)
    (keys.clients / "eve.key").unlink()
    place.listener.reload()
    place.socket().resume_reading()
    await until(lambda: place.protocol.discards)
    assert place.protocol.discards == [("frontend", "revoked")]
    assert place.protocol.parts == [[b"1"]]


@pytest_twisted.ensureDeferred
async def test_one_that_only_listens_is_cut_off_too(listen: Listen, keys: Keys) -> None:
    """ZeroMQ tells only of the first that wants something. Nobody knows whose the other connections are: all of those
    have to come back, and only those with keys can."""
    place = listen(text(keys))
    subscribers = {}
    for name in ("anna", "bert", "eve"):
        own = keys.client(name)
        place.listener.reload()
        subscribers[name] = place.peer(zmq.SUB, "pubout", reconnect_ivl=10, **keys.options(own))
        subscribers[name].subscribe(b"")
        await until_heard(place, subscribers[name])
    assert len(place.protocol.heard) == 1
    (keys.clients / "eve.key").unlink()
    place.listener.reload()
    await until(lambda: place.listener.refusals["key"] == 1 and place.listener.connections == 2)
    for name in ("anna", "bert"):
        await until_heard(place, subscribers[name])
    while received(subscribers["eve"]):
        """What came before she was cut off."""
    place.socket("pubout").send(b"", [b"x"])
    assert not subscribers["eve"].poll(50)


async def until_heard(place: Place, subscriber: Any) -> None:
    """Publish until it comes to a subscriber."""
    while received(subscriber):
        """Of former times."""

    def is_heard() -> bool:
        place.socket("pubout").send(b"", [b"x"])
        return received(subscriber) is not None

    await until(is_heard)


@pytest_twisted.ensureDeferred
async def test_a_broken_folder_changes_nothing(listen: Listen, keys: Keys) -> None:
    """Neither for those inside nor for those outside."""
    anna, eve = keys.client("anna"), keys.client("eve", is_allowed=False)
    place = listen(text(keys))
    write(keys.clients / "eve.key", eve.public)
    (keys.clients / "broken.key").write_text('public-key = "too short"\n')
    with pytest.raises(ConfigError, match=r"broken\.key"):
        place.listener.reload()
    place.peer(**keys.options(eve)).send(b"eve")
    place.peer(**keys.options(anna)).send(b"anna")
    await until(lambda: place.protocol.heard and place.listener.refusals["key"])
    assert place.protocol.parts == [[b"anna"]]


@pytest_twisted.ensureDeferred
async def test_two_places_in_one_process_have_folders_of_their_own(listen: Listen, keys: Keys, tmp_path: Path) -> None:
    """Each has a context, and one who answers in it."""
    other = tmp_path / "other"
    other.mkdir()
    others = Keys(other)
    anna, bert = keys.client("anna"), others.client("bert")
    one, two = listen(text(keys)), listen(text(others))
    one.peer(**keys.options(bert)).send(b"x")
    two.peer(**others.options(anna)).send(b"x")
    await until(lambda: one.listener.refusals["key"] == two.listener.refusals["key"] == 1)
    one.peer(**keys.options(anna)).send(b"anna")
    two.peer(**others.options(bert)).send(b"bert")
    await until(lambda: one.protocol.heard and two.protocol.heard)
    assert one.protocol.parts == [[b"anna"]]
    assert two.protocol.parts == [[b"bert"]]


@pytest_twisted.ensureDeferred
async def test_a_mistake_of_ours_lets_nobody_in(listen: Listen, keys: Keys, errors: list[str]) -> None:
    """It is logged, and the next one is looked at."""
    anna = keys.client("anna")
    place = listen(text(keys))
    admission = place.group._admission
    honest = admission.admit

    def broken(request: Request) -> Deferred[str]:
        admission.admit = honest
        return fail(ValueError("a mistake of ours"))

    admission.admit = broken
    place.peer(**keys.options(anna)).send(b"1")
    await until(lambda: errors)
    assert "a mistake of ours" in errors.pop()
    place.peer(**keys.options(anna)).send(b"2")
    await until(lambda: place.protocol.heard)
    assert place.protocol.parts == [[b"2"]]


@pytest_twisted.ensureDeferred
async def test_a_handshake_that_stalls_holds_up_nobody(listen: Listen, keys: Keys) -> None:
    """Those who never say a word, and those who stop after the greeting."""
    anna = keys.client("anna")
    place = listen(text(keys))
    stalled = [sockets.create_connection(("127.0.0.1", place.port())) for _ in range(20)]
    greeting = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(15) + b"\x00" + bytes(31)
    for end in stalled[:10]:
        end.sendall(greeting)
    place.peer(**keys.options(anna)).send(b"anna")
    await until(lambda: place.protocol.heard)
    assert place.listener.connections == 21
    for end in stalled:
        end.close()
    await until(lambda: place.listener.connections == 1)
    await until(lambda: place.listener.refusals["handshake"] == 20)
