"""What one connection may, and what becomes of one that wants more."""

from __future__ import annotations

import attrs
import pytest

from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.http.connection import REQUEST_OCTETS
from fmqbus.protocols.http.plug import HTTP
from fmqbus.testing.contracts.protocol import BusProtocolContract
from fmqbus.transports.preamble import PREAMBLE_PLACES
from tests.protocols.http.client import Server

GET = b"GET /healthz HTTP/1.1\r\nHost: bus\r\n\r\n"
SECONDS = DEFAULT_LIMITS.handshake_seconds


class TestHTTP(BusProtocolContract):
    """As every protocol; but no client comes by it."""

    def make_protocol(self) -> object:  # type: ignore[override]
        return HTTP

    def test_a_draining_bus_turns_a_connection_away(self) -> None:
        """It does not: operators can look on until it is over."""
        server = Server()
        server.router.drain()
        assert server.get("/readyz").status == 503


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_request_may_come_in_pieces(size: int) -> None:
    """Of whatever size."""
    client = Server().connect()
    for at in range(0, len(GET), size):
        assert client.said == b""
        client.say(GET[at : at + size])
    assert client.answer().status == 200


def test_a_connection_has_one_answer() -> None:
    """What is asked in the same breath is not looked at, and makes no answers in store."""
    client = Server().connect()
    client.say(GET * 100)
    assert client.said.count(b"HTTP/1.1 200") == 1
    client.say(GET)
    assert client.said.count(b"HTTP/1.1 200") == 1


def test_the_connection_is_closed_after_the_answer() -> None:
    """And leaves nothing behind."""
    server = Server()
    client = server.connect()
    client.say(GET)
    assert client.transport.disconnecting
    client.lose()
    assert server.listener.connections == []
    assert server.clock.getDelayedCalls() == []


@pytest.mark.parametrize(
    "head",
    [
        b"GET /healthz HTTP/1.1\r\nX: " + bytes([65]) * REQUEST_OCTETS,
        b"GET /" + b"a" * REQUEST_OCTETS,
        b"A" * (REQUEST_OCTETS + 1),
        b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * (REQUEST_OCTETS // 6),
    ],
)
def test_a_head_that_is_too_long_is_not_read_to_its_end(head: bytes) -> None:
    """At once, and in small pieces."""
    client = Server().connect()
    client.say(head)
    assert client.answer().status in (400, 431)
    client = Server().connect()
    for at in range(0, len(head), 100):
        client.say(head[at : at + 100])
    assert client.answer().status in (400, 431)


def test_one_that_goes_on_after_its_answer_is_cut_off() -> None:
    """It has nothing more to say."""
    client = Server().connect()
    client.say(GET)
    client.say(bytes(REQUEST_OCTETS))
    assert client.transport.is_aborted


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 1",
        b"Content-Length: 99999999999999999999",
        b"Transfer-Encoding: chunked",
        b"Content-Length: 5\r\nExpect: 100-continue",
        b"Transfer-Encoding: chunked\r\nExpect: 100-continue",
    ],
)
@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_a_body_is_refused_before_it_comes(header: bytes, method: bytes) -> None:
    """Nobody waits for it, nor invites it; what comes of it is not looked at."""
    client = Server().connect()
    client.say(method + b" /healthz HTTP/1.1\r\nHost: bus\r\n" + header + b"\r\n\r\n")
    assert client.answer().status == 413
    client.say(b"5\r\nhello\r\n0\r\n\r\n" + GET)
    assert client.said.count(b"HTTP/1.1") == 1


def test_a_length_of_nothing_is_no_body() -> None:
    """Some clients say so."""
    client = Server().connect()
    client.say(GET.replace(b"\r\n\r\n", b"\r\nContent-Length: 0\r\n\r\n"))
    assert client.answer().status == 200


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"GET  /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nbad name: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nX: a\0b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_request_harms_nobody(request_: bytes) -> None:
    """It is answered that it is none, or cut off, or its time is over; none gets a page."""
    server = Server()
    client = server.connect()
    client.say(request_)
    server.clock.advance(SECONDS)
    assert client.transport.disconnecting or client.transport.is_aborted
    assert b" 200 " not in client.said
    assert server.get("/healthz").status == 200


def test_who_says_nothing_is_cut_off() -> None:
    """Within the time that all have who are to say how they want to speak."""
    client = Server().connect()
    client.server.clock.advance(SECONDS - 0.1)
    assert not client.transport.is_aborted
    client.server.clock.advance(0.1)
    assert client.transport.is_aborted


def test_who_says_it_slowly_is_cut_off_no_later() -> None:
    """One octet a second buys no time."""
    client = Server().connect()
    for octet in GET:
        client.say(bytes([octet]))
        client.server.clock.advance(1.0)
    assert client.transport.is_aborted


def test_who_does_not_take_his_answer_is_cut_off() -> None:
    """The time is for the answer, too."""
    client = Server().connect()
    client.say(GET)
    client.server.clock.advance(SECONDS)
    assert client.transport.is_aborted


def test_the_one_who_has_been_there_longest_gives_way_to_very_many() -> None:
    """A crowd that says nothing keeps nobody out: to ask takes but a moment."""
    server = Server()
    crowd = [server.connect() for _ in range(PREAMBLE_PLACES)]
    assert server.get("/healthz").status == 200
    assert [client.transport.is_aborted for client in crowd[:2]] == [True, False]


def test_connections_count_for_the_listener() -> None:
    """Which keeps them within the limits."""
    server = Server()
    client = server.connect()
    assert server.listener.connections == [client.connection]
    client.lose()
    assert server.listener.connections == []


def test_where_the_port_is_closed_nobody_is_left() -> None:
    """At the end of the bus."""
    server = Server(limits=attrs.evolve(DEFAULT_LIMITS, handshake_seconds=3600.0))
    clients = [server.connect() for _ in range(3)]
    server.factory.doStart()
    server.factory.doStop()
    assert all(client.transport.is_aborted for client in clients)


@pytest.mark.parametrize("way", ["lose", "abort"])
def test_the_listener_can_end_a_connection(way: str) -> None:
    """For silence, say."""
    client = Server().connect()
    getattr(client.connection, way)("idle")
    assert client.transport.disconnecting or client.transport.is_aborted
