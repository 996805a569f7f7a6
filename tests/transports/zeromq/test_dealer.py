"""Does the client's end carry messages both ways, wait for a broker, and end?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
import zmq
from twisted.internet import reactor
from twisted.logger import LogLevel, capturedLogs, formatEvent

from fmqbus.errors import Detached, Overloaded
from fmqbus.limits import Limits
from fmqbus.transports.zeromq import passport, reentry
from fmqbus.transports.zeromq.dealer import Dealer
from fmqbus.transports.zeromq.keys import KeyPair
from fmqbus.transports.zeromq.passport import NO_PASSPORT
from tests.transports.zeromq.keys import Keys, write
from tests.transports.zeromq.live import Place, turn, until

Listen = Callable[..., Place]


class End:
    """A dealer, and what came to it."""

    def __init__(self, address: str, **limits: Any) -> None:
        self.heard: list[Sequence[bytes]] = []
        self.cleared = self.lost = 0
        shown = limits.pop("passport", NO_PASSPORT)
        self.dealer = Dealer(
            reactor, address, b"me", self.heard.append, Limits(**limits), self._clear, shown, self._lose
        )

    def _clear(self) -> None:
        self.cleared += 1

    def _lose(self) -> None:
        self.lost += 1


@pytest_twisted.ensureDeferred
async def test_it_speaks_under_its_identity_and_hears_the_answer(listen: Listen) -> None:
    """As any peer."""
    place = listen()
    place.protocol.answer = lambda socket, peer, parts: socket.send(peer, [*parts, peer])
    end = End(f"tcp://127.0.0.1:{place.port()}")
    assert end.dealer.send([b"", b"hello"])
    await until(lambda: end.heard)
    assert end.heard == [[b"", b"hello", b"me"]]
    await end.dealer.close()


@pytest_twisted.ensureDeferred
async def test_it_has_itself_let_in_by_its_key(listen: Listen, tmp_path: Path) -> None:
    """And what it says and hears is encrypted."""
    keys = Keys(tmp_path)
    own = keys.client("me")
    write(tmp_path / "me.key_secret", own.public, own.secret)
    write(tmp_path / "server.key", keys.server.public)
    place = listen(f"quiet:zmq:0:curveKey={keys.server_file}:curveClients={keys.clients}")
    place.protocol.answer = lambda socket, peer, parts: socket.send(peer, parts)
    end = End(
        f"tcp://127.0.0.1:{place.port()}",
        passport=passport.curve(tmp_path / "server.key", tmp_path / "me.key_secret"),
    )
    end.dealer.send([b"hello"])
    await until(lambda: end.heard == [[b"hello"]])
    assert place.protocol.heard[0][3].facts.curve_key == own.public
    await end.dealer.close()


@pytest_twisted.ensureDeferred
async def test_whoever_is_not_let_in_asks_again_later(
    listen: Listen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key may have been added; ZeroMQ itself would never know. It is told in the log, not at each time."""
    monkeypatch.setattr(reentry, "ASK_AGAIN_SECONDS", 0.05)
    keys = Keys(tmp_path)
    own = keys.client("me", is_allowed=False)
    write(tmp_path / "me.key_secret", own.public, own.secret)
    place = listen(f"quiet:zmq:0:curveKey={keys.server_file}:curveClients={keys.clients}")
    with capturedLogs() as logs:
        end = End(
            f"tcp://127.0.0.1:{place.port()}",
            passport=passport.curve(keys.server_file, tmp_path / "me.key_secret"),
        )
        await until(lambda: place.listener.refusals["key"] >= 3)
    [told] = [formatEvent(event) for event in logs if event["log_level"] is LogLevel.warn]
    assert "is not let in: the broker says no" in told
    write(keys.clients / "me.key", own.public)
    place.listener.reload()
    refused = place.listener.refusals["key"]

    def is_heard() -> bool:
        end.dealer.send([b"hello"])
        return bool(place.protocol.heard)

    await until(is_heard)
    assert place.listener.refusals["key"] <= refused + 1
    await end.dealer.close()


@pytest_twisted.ensureDeferred
async def test_who_takes_the_broker_for_another_one_is_told(listen: Listen, tmp_path: Path) -> None:
    """Nothing was said to a stranger."""
    keys = Keys(tmp_path)
    write(tmp_path / "other.key", KeyPair.new().public)
    place = listen(f"quiet:zmq:0:curveKey={keys.server_file}")
    with capturedLogs() as logs:
        end = End(f"tcp://127.0.0.1:{place.port()}", passport=passport.curve(tmp_path / "other.key"))
        end.dealer.send([b"secret"])
        await until(lambda: place.listener.refusals["handshake"])
        await until(lambda: any("perhaps it has another key" in formatEvent(event) for event in logs))
    assert place.protocol.heard == []
    assert end.lost == 0
    await end.dealer.close()
    assert end.lost == 0


@pytest_twisted.ensureDeferred
async def test_it_connects_again_to_a_broker_that_returns(listen: Listen) -> None:
    """By itself; whoever has to notice is told."""
    place = listen()
    port = place.port()
    end = End(f"tcp://127.0.0.1:{port}")
    end.dealer.send([b"1"])
    await until(lambda: place.protocol.heard)
    assert end.lost == 0
    await place.group.close()
    await until(lambda: end.lost == 1)
    again = listen(f"quiet:zmq:{port}")
    await until(lambda: again.listener.connections)
    end.dealer.send([b"2"])
    await until(lambda: again.protocol.parts == [[b"2"]])
    await end.dealer.close()


@pytest_twisted.ensureDeferred
async def test_what_a_missing_broker_does_not_take_waits_within_bounds(listen: Listen) -> None:
    """And leaves in order once there is one."""
    place = listen()
    port = place.port()
    await place.group.close()
    end = End(f"tcp://127.0.0.1:{port}", socket_messages=10, outbox_octets=100_000)
    sent = 0
    with pytest.raises(Overloaded):
        while True:
            end.dealer.send([b"%d" % sent, bytes(1000)])
            sent += 1
    assert 50 < sent < 150
    again = listen(f"quiet:zmq:{port}")
    await until(lambda: len(again.protocol.heard) == sent)
    assert [int(parts[0]) for parts in again.protocol.parts] == list(range(sent))
    await until(lambda: end.cleared == 1)
    await end.dealer.close()


@pytest_twisted.ensureDeferred
async def test_closed_it_sends_nothing_more(listen: Listen) -> None:
    """What was sent before still leaves."""
    place = listen()
    end = End(f"tcp://127.0.0.1:{place.port()}")
    end.dealer.send([b"last words"])
    await end.dealer.close()
    await end.dealer.close()
    with pytest.raises(Detached):
        end.dealer.send([b"x"])
    await until(lambda: place.protocol.parts == [[b"last words"]])


@pytest_twisted.ensureDeferred
async def test_what_its_owner_raises_goes_no_further(listen: Listen, errors: list[str]) -> None:
    """The next message is heard."""
    place = listen()
    place.protocol.answer = lambda socket, peer, parts: socket.send(peer, parts)
    heard: list[Sequence[bytes]] = []

    def fail(parts: Sequence[bytes]) -> None:
        heard.append(parts)
        raise ValueError("a mistake of the owner")

    dealer = Dealer(reactor, f"tcp://127.0.0.1:{place.port()}", b"me", fail, Limits())
    dealer.send([b"1"])
    dealer.send([b"2"])
    await until(lambda: len(heard) == 2)
    assert "a mistake of the owner" in errors.pop()
    await dealer.close()


@pytest_twisted.ensureDeferred
async def test_an_address_that_is_none_is_refused() -> None:
    """And leaves nothing behind."""
    with pytest.raises(zmq.ZMQError):
        End("nonsense")
    await turn(0.05)
