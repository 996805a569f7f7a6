"""A WebSocket client in memory, whose frames are wsproto's or made by hand, and the listener that it talks to."""

from __future__ import annotations

from typing import Any

import attrs
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.web.resource import IResource
from wsproto.frame_protocol import FrameProtocol, Opcode

from fmqbus.limits import Limits
from fmqbus.testing.links import MemoryListener
from fmqbus.transports.websocket.framing import WebSocket
from fmqbus.transports.websocket.link import WebSocketLink
from fmqbus.transports.websocket.settings import read_settings
from fmqbus.turns import Turns
from tests.transports.echo import Echo, EchoPlug

#: The example of RFC 6455, section 1.2, and its answer.
KEY, ACCEPT = "dGhlIHNhbXBsZSBub25jZQ==", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def head(path: str = "/echo", **headers: str | None) -> bytes:
    """A request to upgrade. Headers have underscores for hyphens; None leaves one out."""
    lines = {
        "Host": "127.0.0.1:7702",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": KEY,
        **headers,
    }
    text = [f"{name.replace('_', '-')}: {value}" for name, value in lines.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *text, "", ""]).encode()


def masked(first: int, payload: bytes = b"", length: bytes | None = None, mask: bytes = b"\x37\xfa\x21\x3d") -> bytes:
    """A frame by hand. `length` is how the length is written, if it is not as it should be."""
    if length is None:
        size = len(payload)
        length = (
            bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2) if size < 65536 else b"\x7f" + size.to_bytes(8)
        )
    octets = bytes(octet ^ mask[at % 4] for at, octet in enumerate(payload))
    return bytes([first, length[0] | 0x80]) + length[1:] + mask + octets


@attrs.frozen
class Close:
    """A Close that the client got; its code is 1005 if it had none."""

    code: int
    reason: str = ""


class Server:
    """A WebSocket listener of the echo protocol, without sockets."""

    def __init__(self, pages: IResource | None = None, limits: Limits | None = None, **settings: Any) -> None:
        self.clock = Clock()
        self.listener = MemoryListener(self.clock, limits or Limits(linger_seconds=5.0))
        self.turns = Turns(self.clock)
        table = read_settings({"ping_seconds": 0, **settings}, "echo.websocket", "/echo")
        framing = WebSocket(table, "echo") if pages is None else WebSocket(table, "echo", pages)
        self.plug = EchoPlug(self.turns, framing)
        self.factory = self.plug.make_factory(None, self.listener, {})  # type: ignore[arg-type]
        self.factory.doStart()

    def connect(self, *, opened: bool = True, **headers: str | None) -> Client:
        """A client that has connected, and has opened a WebSocket unless told otherwise."""
        client = Client(self)
        if opened:
            client.say(head(**headers))
            client.answer = client.take()
            assert client.answer.startswith(b"HTTP/1.1 101 "), client.answer
        return client


class Client:
    """One connection."""

    #: What the server has said to the opening handshake.
    answer = b""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.frames = FrameProtocol(client=True, extensions=[])
        self.transport: Any = StringTransport()
        self.transport.protocol = server.factory.buildProtocol(None)
        self.transport.protocol.makeConnection(self.transport)

    @property
    def link(self) -> WebSocketLink:
        """The server's end."""
        link: WebSocketLink = self.transport.protocol
        return link

    @property
    def echo(self) -> Echo:
        """The protocol of the connection that was opened last."""
        return self.server.plug.made[-1]

    @property
    def is_closing(self) -> bool:
        """The server has begun to end the stream."""
        return bool(self.transport.disconnecting or self.transport.disconnected)

    def say(self, octets: bytes, cut: int = 0) -> None:
        """Send these octets, in pieces of so many, or as one; then enough turns pass to act on them."""
        for at in range(0, len(octets), cut or len(octets)):
            self.transport.protocol.dataReceived(octets[at : at + (cut or len(octets))])
            self.server.clock.pump([0.0] * 3)
        self.server.clock.pump([0.0] * 50)

    def take(self) -> bytes:
        """What has come since the last time."""
        octets: bytes = self.transport.value()
        self.transport.clear()
        return octets

    def hear(self) -> list[Any]:
        """What has come, as wsproto reads it: texts, octets, and pairs of other opcodes and what they carry."""
        self.frames.receive_bytes(self.take())
        heard: list[Any] = []
        under_way: Any = None
        for frame in self.frames.received_frames():
            if frame.opcode is Opcode.CLOSE:
                code, reason = frame.payload
                heard.append(Close(int(code), reason))
            elif frame.opcode in (Opcode.PING, Opcode.PONG):
                heard.append((frame.opcode, bytes(frame.payload)))
            else:
                payload = frame.payload if isinstance(frame.payload, str) else bytes(frame.payload)
                under_way = payload if under_way is None else under_way + payload
                if frame.message_finished:
                    heard.append(under_way)
                    under_way = None
        return heard

    def ask(self, octets: bytes, cut: int = 0) -> list[Any]:
        """Send, and hear what comes of it."""
        self.say(octets, cut)
        return self.hear()
