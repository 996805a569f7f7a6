"""WebSocket and plain units over real sockets, talked to by clients that block, in threads of their own."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from time import monotonic
from typing import Any

import attrs
import pytest_twisted
from cryptography import x509
from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Message, Request, TextMessage

from fmqbus.limits import Limits
from fmqbus.model import Parting
from fmqbus.transports.carriers import carrier_for
from fmqbus.transports.length_prefixed import UnitDecoder, encode_unit
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.listener import Listener
from fmqbus.transports.websocket.framing import WebSocket
from fmqbus.transports.websocket.settings import read_settings
from fmqbus.turns import Turns
from tests.transports.certificates import issue
from tests.transports.echo import Echo, EchoPlug
from tests.transports.live import TRANSPORTS, port_of

LARGE = bytes(range(256)) * (8 * 1024 * 1024 // 256)


@attrs.define
class Place:
    """A listener of the echo protocol, and its connections."""

    listener: Listener
    plug: EchoPlug

    async def connect(self) -> socket.socket:
        """A socket connected to it."""
        return await deferToThread(socket.create_connection, ("127.0.0.1", await port_of(self.listener)), 10)

    async def open(self) -> tuple[Client, Echo]:
        """A client that has opened a WebSocket, and the server's end."""
        client = Client(await self.connect())
        await deferToThread(client.open)
        return client, self.plug.made[-1]


class Client:
    """A WebSocket client of wsproto's on a blocking socket."""

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream
        self._frames = WSConnection(ConnectionType.CLIENT)
        self._events: Any = iter(())

    def open(self) -> None:
        """Shake hands."""
        self._send(Request("127.0.0.1", "/echo", subprotocols=["echo"]))
        accepted = self._next()
        assert isinstance(accepted, AcceptConnection)
        assert accepted.subprotocol == "echo"

    def say(self, unit: str | bytes) -> None:
        """Send a message."""
        self._send(TextMessage(unit) if isinstance(unit, str) else BytesMessage(unit))

    def hear(self) -> str | bytes:
        """Wait for a whole message."""
        pieces: list[Any] = []
        while True:
            event = self._next()
            assert isinstance(event, Message), event
            pieces.append(event.data)
            if event.message_finished:
                return type(pieces[0])().join(pieces)

    def ask(self, unit: str | bytes) -> str | bytes:
        """Send a message and wait for one."""
        self.say(unit)
        return self.hear()

    def hear_close(self) -> tuple[int, str | None]:
        """Wait for the server's Close, answer it, and read to the end of the stream."""
        while not isinstance(event := self._next(), CloseConnection):
            pass
        self._send(event.response())
        while self.stream.recv(65536):
            pass
        self.stream.close()
        return event.code, event.reason

    def _send(self, event: Any) -> None:
        self.stream.sendall(self._frames.send(event))

    def _next(self) -> Any:
        while (event := next(self._events, None)) is None:
            data = self.stream.recv(65536)
            assert data, "the stream has ended"
            self._frames.receive_data(data)
            self._events = iter(self._frames.events())
        return event


Start = Callable[..., Place]


@pytest_twisted.async_yield_fixture()
async def start() -> AsyncIterator[Start]:
    """Starts listeners of the echo protocol at listen strings."""
    places: list[Place] = []

    def start_one(text: str, limits: Limits | None = None, **settings: Any) -> Place:
        framing = WebSocket(read_settings(settings, "echo.websocket", "/echo"), "echo")
        plug = EchoPlug(Turns(reactor), framing)
        carrier = carrier_for(reactor, parse_listen_string(text), TRANSPORTS)
        router: Any = None
        listener = Listener(reactor, plug, carrier, router, limits or Limits(), {}, text, lambda interface: ())
        listener.startService()
        places.append(Place(listener, plug))
        return places[-1]

    yield start_one
    for place in places:
        await place.listener.stopService()
        for echo in place.plug.made:
            echo.link.abort("the test is over")
    await deferLater(reactor, 0, lambda: None)  # type: ignore[arg-type]


async def until(is_so: Callable[[], bool], seconds: float = 10.0) -> None:
    """Let the reactor run until something is so."""
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end, "it never was"
        await deferLater(reactor, 0.01, lambda: None)  # type: ignore[arg-type]


@pytest_twisted.ensureDeferred
async def test_messages_of_every_size_come_and_go_over_tcp(start: Start) -> None:
    """Up to a large one, whose pieces leave as the client reads."""
    client, _ = await start("echo:tcp:0").open()
    for unit in ("", "hello", b"", bytes(100_000), LARGE):
        assert await deferToThread(client.ask, unit) == unit
    await deferToThread(client.say, "bye")
    assert await deferToThread(client.hear_close) == (Parting.NORMAL, "as asked")


@pytest_twisted.ensureDeferred
async def test_websocket_goes_over_tls(start: Start, tmp_path: Path) -> None:
    """`wss:` is the carrier's business."""
    authority = issue("authority")
    key, certificate = issue("server", authority, [x509.DNSName("bus.example")]).write(tmp_path)
    place = start(f"echo:ssl:0:privateKey={key}:certKey={certificate}")
    context = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    stream = await place.connect()
    client = Client(await deferToThread(context.wrap_socket, stream, server_hostname="bus.example"))
    await deferToThread(client.open)
    assert place.plug.made[0].link.facts.carrier == "tls"
    for unit in ("hello", LARGE):
        assert await deferToThread(client.ask, unit) == unit
    place.plug.made[0].link.lose("over")
    assert await deferToThread(client.hear_close) == (Parting.GOING_AWAY, "over")


@pytest_twisted.ensureDeferred
async def test_websocket_goes_over_unix_sockets(start: Start, tmp_path: Path) -> None:
    """With the credentials that the kernel vouches for."""
    path = tmp_path / "bus.sock"
    place = start(f"echo:unix:{path}")
    await place.listener.when_listening()
    client = Client(socket.socket(socket.AF_UNIX))
    await deferToThread(client.stream.connect, str(path))
    await deferToThread(client.open)
    assert place.plug.made[0].link.facts.uid is not None
    assert await deferToThread(client.ask, "hello") == "hello"
    client.stream.close()


@pytest_twisted.ensureDeferred
async def test_websocket_goes_behind_a_proxy_that_says_whom_it_forwards(start: Start) -> None:
    """The facts are the client's then, and no header of HTTP is needed."""
    place = start("echo:haproxy:tcp:0:trust=127.0.0.1")
    client = Client(await place.connect())
    client.stream.sendall(b"PROXY TCP4 192.0.2.1 127.0.0.1 40000 7702\r\n")
    await deferToThread(client.open)
    assert place.plug.made[0].link.facts.address == "192.0.2.1"
    client.stream.close()


@pytest_twisted.ensureDeferred
async def test_units_go_over_a_plain_stream(start: Start) -> None:
    """The same protocol, which does not know the difference."""
    place = start("echo:units:tcp:0")
    stream = await place.connect()
    decoder, heard = UnitDecoder(len(LARGE)), []

    def talk() -> None:
        for unit in (b"hello", LARGE):
            for piece in encode_unit(True, unit):
                stream.sendall(piece)
        while len(heard) < 2:
            heard.extend(decoder.feed(stream.recv(65536)))

    await deferToThread(talk)
    assert heard == [(True, b"hello"), (True, LARGE)]
    place.plug.made[0].link.lose("over")
    assert await deferToThread(stream.recv, 1) == b""
    stream.close()


@pytest_twisted.ensureDeferred
async def test_a_client_that_does_not_read_fills_its_link_and_nobody_elses(start: Start) -> None:
    """What does not leave is told; when it reads on, it gets everything."""
    place = start("echo:tcp:0")
    slow, echo = await place.open()
    echo.link.send_binary(LARGE)
    echo.link.send_texts([b"behind"])
    assert echo.told[-1] == "full"
    other, _ = await place.open()
    assert await deferToThread(other.ask, "hello") == "hello"
    assert await deferToThread(slow.hear) == LARGE
    assert await deferToThread(slow.hear) == "behind"
    await until(lambda: echo.told[-1] == "clear")
    slow.stream.close()
    other.stream.close()


@pytest_twisted.ensureDeferred
async def test_a_client_that_sends_very_much_leaves_others_their_turns(start: Start) -> None:
    """Hundreds of thousands of small messages, pings and fragments wait for theirs."""
    place = start("echo:tcp:0")
    busy, echo = await place.open()
    echo.answers = False
    other, _ = await place.open()
    text, ping, piece = b"\x81\x81\0\0\0\0x", b"\x8a\x80\0\0\0\0", b"\0\x80\0\0\0\0"
    flood = deferToThread(busy.stream.sendall, text * 100_000 + ping * 20_000 + b"\x01\x80\0\0\0\0" + piece * 20_000)
    worst = 0.0
    while not flood.called:
        begun = monotonic()
        await deferToThread(other.ask, "hello")
        worst = max(worst, monotonic() - begun)
    await flood
    assert worst < 2.0
    await until(lambda: len(echo.heard) == 100_000)
    busy.stream.close()
    other.stream.close()


@pytest_twisted.ensureDeferred
async def test_7_1_7_a_client_that_is_refused_can_read_why(start: Start) -> None:
    """Though it was still sending: no reset takes the Close away."""
    place = start("echo:tcp:0", Limits(body_octets=1000, linger_seconds=5.0))
    client, _ = await place.open()

    def send_too_much() -> tuple[int, str | None]:
        client.say(bytes(1_000_000))
        return client.hear_close()

    code, _ = await deferToThread(send_too_much)
    assert code == Parting.TOO_BIG
    await until(lambda: not place.listener.connections)


@pytest_twisted.ensureDeferred
async def test_a_half_open_client_is_found_out(start: Start) -> None:
    """Its network is gone, so to speak: nothing comes, not even an end."""
    place = start("echo:tcp:0", ping_seconds=0.2, pong_seconds=0.2)
    client, echo = await place.open()
    await until(lambda: echo.told[-1:] == ["lost ConnectionAborted"])
    assert place.listener.connections == 0
    client.stream.close()


@pytest_twisted.ensureDeferred
async def test_http_and_websocket_share_a_port(start: Start) -> None:
    """One connection for each."""
    place = start("echo:tcp:0")
    client, _ = await place.open()
    stream = await place.connect()

    def fetch() -> bytes:
        stream.sendall(b"GET /fmqbus.js HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        answer = b""
        while piece := stream.recv(65536):
            answer += piece
        return answer

    answer = await deferToThread(fetch)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"export" in answer
    assert await deferToThread(client.ask, "hello") == "hello"
    stream.close()
    client.stream.close()


@pytest_twisted.ensureDeferred
async def test_a_client_that_resets_is_a_loss_like_any_other(start: Start) -> None:
    """In the middle of a message, with answers on their way."""
    client, echo = await start("echo:tcp:0").open()
    echo.link.send_binary(LARGE)
    client.stream.sendall(b"\x02\xfe\xff\xff\0\0\0\0half")
    client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.stream.close()
    await until(lambda: echo.told[-1].startswith("lost Connection"))
