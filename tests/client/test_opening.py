"""`fmqbus.client.opening`: a MicroMsg2 connection is made when both sides have agreed how to speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionLost, TimeoutError

from fmqbus.client.events import Message
from fmqbus.errors import ConfigError, LocalError, PeerError, Refused
from fmqbus.protocols.micromsg2 import handshake
from fmqbus.testing.micromsg2 import server as make_end
from tests.client.failures import failure_of
from tests.client.micromsg2_bus import MicroMsg2Bus, encode_message

MakeServer = Callable[..., MicroMsg2Bus]


def attempt(bus: MicroMsg2Bus) -> Deferred[None]:
    """Start the client, and wait for one attempt to connect."""
    bus.client.startService()
    return Deferred.fromCoroutine(bus.client.when_connected(attempts=1))


def test_a_connection_is_made_when_the_handshake_is_over(make_server: MakeServer) -> None:
    """Who we are and what we want is in it."""
    bus = make_server(identity="me", window=7, suggested="json")
    connected = attempt(bus)
    request = handshake.decode(bus.connection.value())
    assert request is not None
    assert request[0].identity == b"me"
    assert handshake.write_entries(request[0].required) == b"batch-ack:max-count=7;pubsub"
    assert handshake.write_entries(request[0].optional) == b"json"
    bus.clock.advance(0)
    assert not connected.called
    assert not bus.client.is_connected
    bus.shake_hands()
    bus.clock.advance(0)
    assert connected.called
    assert bus.client.is_connected
    bus.connection.hear()
    assert [agreed.extension.name for agreed in bus.connection.end.connection.agreed] == ["batch-ack", "pubsub", "json"]


def test_the_handshake_may_come_in_pieces_with_messages_behind_it(server: MicroMsg2Bus) -> None:
    """However it is cut, and though the server should have waited."""
    got: list[Message] = []
    server.client.subscribe("a", callback=got.append)
    server.client.startService()
    server.connection.hear()
    message = encode_message(1, b"topic/a", b"1")
    for octet in server.connection.end.written() + message:
        server.connection.say(bytes([octet]))
    server.connection.break_off()
    server.come_back()
    server.connections[1].break_off()
    server.clock.advance(1.0)
    server.connection.hear()
    server.connection.say(server.connection.end.written(), message)
    assert [each.payload for each in got] == [b"1", b"1"]


def test_a_server_that_refuses_is_a_failed_attempt_with_its_own_words(make_server: MakeServer) -> None:
    """What waits to be sent is told too; the client goes on trying, ever more slowly."""
    bus = make_server(required="json", make_end=lambda: make_end(extensions=[]))
    sent = bus.client.send("a", b"1")
    connected = attempt(bus)
    bus.shake_hands()
    bus.clock.advance(0)
    for failed in (connected, sent):
        refusal = failure_of(failed)
        assert isinstance(refusal, Refused)
        assert "unsupported extension" in str(refusal)
    assert bus.connection.disconnecting
    for _ in range(3):
        bus.come_back()
        bus.clock.advance(0)
    assert bus.waited == [1, 2, 3, 4]
    assert not bus.client.is_connected


def test_a_server_that_requires_what_we_cannot_do_is_told(make_server: MakeServer) -> None:
    """And the attempt fails with the reason."""
    bus = make_server()
    connected = attempt(bus)
    bus.connection.written()
    bus.connection.say(handshake.encode(handshake.Handshake(required=handshake.parse_entries("x-secret"))))
    bus.clock.advance(0)
    assert isinstance(failure_of(connected), PeerError)
    assert b"unsupported extension: x-secret" in bus.connection.written()


def test_a_server_that_never_answers_is_given_up(make_server: MakeServer) -> None:
    """After a time."""
    bus = make_server(limits={"handshake_seconds": 3.0})
    connected = attempt(bus)
    bus.clock.advance(2.9)
    assert not connected.called
    bus.clock.pump([0.1, 0.0])
    assert isinstance(failure_of(connected), TimeoutError)
    assert bus.connection.is_aborted


def test_a_connection_lost_in_the_handshake_is_a_failed_attempt(server: MicroMsg2Bus) -> None:
    """Which is made again."""
    connected = attempt(server)
    server.connection.break_off()
    server.clock.advance(0)
    assert isinstance(failure_of(connected), ConnectionLost)
    server.come_back()
    assert server.client.is_connected


def test_a_client_may_stop_in_the_middle_of_the_handshake(server: MicroMsg2Bus) -> None:
    """Nothing is left behind."""
    connected = attempt(server)
    stopped = server.client.stopService()
    server.clock.advance(0)
    assert stopped.called
    assert isinstance(failure_of(connected), CancelledError)
    assert server.connection.is_aborted
    assert server.clock.getDelayedCalls() == []


@pytest.mark.parametrize(
    "options",
    [
        {"identity": "x" * 256},
        {"required": "x-unknown"},
        {"window": -1},
        {"suggested": "batch-ack:count=none"},
        {"required": "json:a=" + "x" * 250},
        {"required": ";a" * 300},
    ],
)
def test_what_nobody_could_agree_to_is_refused_at_once(make_server: MakeServer, options: dict[str, Any]) -> None:
    """Before anything is connected."""
    with pytest.raises((LocalError, ConfigError)):
        make_server(**options)
