"""A client of a real broker that speaks UMQ over WebSocket: a blocking socket, with a time limit for each step."""

from __future__ import annotations

import json
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar

from fmqbus.limits import Limits
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import encode_id
from fmqbus.protocols.umq.events import Answered, Called, Event, Failed, Raised, Updated
from fmqbus.protocols.umq.peer import Peer, Role

E = TypeVar("E")

_OPENING = (
    b"GET /umq HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: umq\r\n\r\n"
)
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_READ_OCTETS = 1 << 18


def frame(opcode: int, payload: bytes) -> bytes:
    """A whole masked frame; a mask of zeros leaves the payload as it is."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 1 << 16:
        length = b"\xfe" + size.to_bytes(2, "big")
    else:
        length = b"\xff" + size.to_bytes(8, "big")
    return bytes([0x80 | opcode]) + length + b"\0\0\0\0" + payload


class Refused(Exception):
    """A call was answered by an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Client:
    """One connection, welcomed unless told otherwise."""

    def __init__(self, connection: socket.socket, is_greeting: bool = True) -> None:
        self.socket = connection
        # what it asks is for the broker to bound
        self.peer = Peer(Role.CLIENT, Limits(calls_in_hand_per_peer=1_000_000))
        #: The code with which the broker has closed; None while it has not.
        self.closed_with: int | None = None
        #: What came besides answers to calls, and has not been asked for.
        self.events: deque[Event] = deque()
        self._octets = b""
        self._message = b""
        self._is_text = True
        connection.sendall(_OPENING)
        while b"\r\n\r\n" not in self._octets:
            self._fill()
        head, _, self._octets = self._octets.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101 "), head
        if is_greeting:
            self.peer.hello()
            self._write()
            self.wait()

    def say(self, *units: str | bytes) -> None:
        """Send messages as they are, whatever the protocol says."""
        for unit in units:
            data = unit.encode() if isinstance(unit, str) else unit
            self.socket.sendall(frame(_TEXT if isinstance(unit, str) else _BINARY, data))

    def call(self, method: str, *arguments: Any, attachments: Sequence[Attachment] = ()) -> Any:
        """Call a method and return its result; what else comes meanwhile is among `events`. Raises `Refused`."""
        tag = object()
        self.peer.call(json.dumps([method, *arguments]).encode(), attachments, tag)
        self._write()
        while True:
            for event in self._read():
                if isinstance(event, Answered) and event.tag is tag:
                    return json.loads(event.payload)
                if isinstance(event, Raised) and event.tag is tag:
                    raise Refused(event.code, event.text)
                self.events.append(event)

    def begin(self, call: Sequence[Any], tag: Any) -> None:
        """Call without waiting for what comes of it."""
        self.peer.call(json.dumps(call).encode(), (), tag)
        self._write()

    def answers(self) -> list[Answered]:
        """The results that have come of those calls, and have not been returned before."""
        return self._told_since(Answered)

    def _told_since(self, kind: type[E]) -> list[E]:
        self.call("list")
        told = [event for event in self.events if isinstance(event, kind)]
        self.events = deque(event for event in self.events if not isinstance(event, kind))
        return told

    def topic(self, name: str) -> str:
        """An id for what is to come; updates then bear the name."""
        return encode_id(self.peer.expect_topic(name)).decode()

    def unsubscribe(self, id: str) -> None:
        """By U."""
        self.peer.unsubscribe(int(id, 36))
        self._write()

    def answer(self, called: Called, value: Any) -> None:
        """Answer a call of theirs."""
        self.peer.answer(called.id, json.dumps(value).encode())
        self._write()

    def wait(self) -> Event:
        """What is told next."""
        while not self.events:
            self.events.extend(self._read())
        return self.events.popleft()

    def updates(self) -> list[tuple[str, Any, Sequence[Attachment]]]:
        """All updates up to now, with the names of their topics: an answer comes behind what came before it."""
        return [(event.tag, json.loads(event.payload), event.attachments) for event in self._told_since(Updated)]

    def close(self) -> None:
        """Go."""
        self.socket.close()

    def _read(self) -> list[Event]:
        """What the next frame brings."""
        assert self.closed_with is None, f"the broker has closed with {self.closed_with}"
        while (opcode_and_payload := self._frame()) is None:
            self._fill()
        opcode, is_last, payload = opcode_and_payload
        if opcode == _CLOSE:
            self.closed_with = int.from_bytes(payload[:2], "big")
            return []
        if opcode == _PING:
            self.socket.sendall(frame(_PONG, payload))
            return []
        if opcode in (_TEXT, _BINARY):
            self._is_text = opcode == _TEXT
            self._message = b""
        self._message += payload
        if not is_last:
            return []
        receive = self.peer.receive_text if self._is_text else self.peer.receive_binary
        told = list(receive(self._message))
        self._write()
        assert not any(isinstance(event, Failed) for event in told), told
        return told

    def _frame(self) -> tuple[int, bool, bytes] | None:
        octets = self._octets
        if len(octets) < 2:
            return None
        size, head = octets[1] & 127, 2
        if size == 126:
            size, head = int.from_bytes(octets[2:4], "big"), 4
        elif size == 127:
            size, head = int.from_bytes(octets[2:10], "big"), 10
        if len(octets) < head + size:
            return None
        self._octets = octets[head + size :]
        return octets[0] & 15, bool(octets[0] & 0x80), octets[head : head + size]

    def _fill(self) -> None:
        data = self.socket.recv(_READ_OCTETS)
        assert data, "the broker has closed the connection"
        self._octets += data

    def _write(self) -> None:
        while True:
            self.socket.sendall(b"".join(frame(_TEXT, text) for text in self.peer.take_texts()))
            if not self.peer.has_attachments:
                return
            attachment = self.peer.take_attachment()
            if attachment is not None:
                self.socket.sendall(frame(_BINARY, attachment))
