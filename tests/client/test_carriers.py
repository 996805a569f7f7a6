"""`fmqbus.client.carriers`: what a bus may do to a client that has asked for a WebSocket."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from twisted.internet.task import Clock

from fmqbus.client.carriers import WebSockets
from fmqbus.transports.websocket.frames import fragments, frame, unmasked

_TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x81, 0x82, 0x88, 0x89, 0x8A


class Owner:
    """A client's end, and the octets of the bus."""

    def __init__(self, host: str = "here", most_octets: int = 1000) -> None:
        self.written = b""
        self.units: list[tuple[bool, bytes]] = []
        self.complaints: list[str] = []
        self.is_open = False
        self.carrier = WebSockets(host, 7702, "/umq", "umq", most_octets, Clock())(self)
        self.carrier.begin()
        self.request, self.written = self.written, b""

    def write(self, chunks: list[bytes]) -> None:
        self.written += b"".join(chunks)

    def carrier_open(self) -> None:
        self.is_open = True

    def unit_arrived(self, is_binary: bool, octets: bytes) -> None:
        self.units.append((is_binary, octets))

    def finished(self, complaint: str) -> None:
        self.complaints.append(complaint)

    def response(self, *more: bytes) -> bytes:
        """What accepts the client's request."""
        key = re.search(rb"Sec-WebSocket-Key: (\S+)", self.request)
        assert key is not None
        accept = base64.b64encode(hashlib.sha1(key[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        head = (b"HTTP/1.1 101 Yes", b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Accept: " + accept)
        return b"\r\n".join((*head, *more, b"", b""))

    def hear(self) -> list[tuple[int, bytes]]:
        """The frames that were written, each with its first octet; all short and masked."""
        frames, at = [], 0
        while at < len(self.written):
            end = at + 6 + (self.written[at + 1] & 0x7F)
            frames.append((self.written[at], unmasked(self.written, at + 6, end)))
            at = end
        return frames


@pytest.fixture
def owner() -> Owner:
    """One whose WebSocket is open."""
    owner = Owner()
    owner.carrier.receive(owner.response())
    assert owner.is_open
    return owner


def test_the_request() -> None:
    """It names the host as the URL does, and the subprotocol; nothing is compressed."""
    lines = Owner("[::1]").request.split(b"\r\n")
    assert lines[0] == b"GET /umq HTTP/1.1"
    assert b"Host: [::1]:7702" in lines
    assert b"Sec-WebSocket-Protocol: umq" in lines
    assert b"Sec-WebSocket-Version: 13" in lines
    assert not any(b"Extensions" in line for line in lines)


def test_units_in_whatever_pieces() -> None:
    """Of reads, and of messages."""
    owner = Owner()
    octets = owner.response(b"Sec-WebSocket-Protocol: umq") + frame(_TEXT, b"H") + b"".join(fragments(2, b"abc", 1))
    for octet in octets:
        owner.carrier.receive(bytes([octet]))
    assert owner.units == [(False, b"H"), (True, b"abc")]


def test_what_is_sent_is_masked(owner: Owner) -> None:
    """As clients have to."""
    owner.carrier.send(False, b"text")
    owner.carrier.send(True, b"\xff")
    assert owner.hear() == [(_TEXT, b"text"), (_BINARY, b"\xff")]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 403 Forbidden\r\n\r\n",
        b"HTTP/1.1 101 Yes\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 101 \xff\r\n\r\n",
        b"x" * 17_000,
    ],
)
def test_who_does_not_shake_hands_is_no_bus(answer: bytes) -> None:
    """It is told once at least, and nothing is open."""
    owner = Owner()
    owner.carrier.receive(answer)
    assert owner.complaints[0]
    assert not owner.is_open
    owner.carrier.send(False, b"x")
    owner.carrier.close()
    assert owner.written == b""


@pytest.mark.parametrize("more", [b"Sec-WebSocket-Protocol: other", b"Sec-WebSocket-Extensions: permessage-deflate"])
def test_what_nobody_has_offered_is_not_accepted(more: bytes) -> None:
    """Neither a subprotocol nor compression."""
    owner = Owner()
    owner.carrier.receive(owner.response(more))
    assert not owner.is_open
    assert owner.complaints


@pytest.mark.parametrize(
    ("octets", "code"),
    [
        (frame(_TEXT, b"a" * 1001), 1009),
        (b"".join(fragments(2, b"a" * 1001, 500)), 1009),
        (frame(_TEXT, b"\xff"), 1007),
        (frame(0x83, b""), 1002),
        (frame(0xC1, b"a"), 1002),
        (b"\x81\x81\0\0\0\0a", 1002),
    ],
)
def test_what_a_bus_must_not_send_is_the_end(owner: Owner, octets: bytes, code: int) -> None:
    """A Close says why, and nothing is heard after it."""
    owner.carrier.receive(octets + frame(_TEXT, b"late"))
    ((first, payload),) = owner.hear()
    assert (first, int.from_bytes(payload[:2], "big")) == (_CLOSE, code)
    assert owner.units == []
    assert owner.complaints


def test_pings_are_answered(owner: Owner) -> None:
    """Else the bus would take us for dead."""
    owner.carrier.receive(frame(_PING, b"there?"))
    assert owner.hear() == [(_PONG, b"there?")]


def test_goodbyes(owner: Owner) -> None:
    """Theirs is answered, and tells why; ours is said once."""
    owner.carrier.receive(frame(_CLOSE, b"\x03\xe9because"))
    assert owner.hear() == [(_CLOSE, b"\x03\xe9because")]
    assert owner.complaints == ["because"]
    owner.carrier.close()
    assert len(owner.hear()) == 1
