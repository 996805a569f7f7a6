"""How does a batch of messages get onto the bus? By one call of UMQ over WebSocket, from a socket that blocks.

Spark commits in a short-lived process of its own, for which a reactor would be too much. A call that has no answer may
have come all the same; whoever says it again is told so, see `put_batch` in docs/protocols/umq.md.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from types import TracebackType
from urllib.parse import urlsplit

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)

from fmqbus.errors import LocalError
from fmqbus.model import WHOLE_BATCH, BatchPart
from fmqbus.protocols.umq.events import Answered, Event, Failed, Greeted, Raised
from fmqbus.protocols.umq.peer import Peer, Role

#: The bus has to connect, and to answer, within these: a batch waits for a disk at most.
_CONNECT_SECONDS, _ANSWER_SECONDS = 10.0, 60.0
_READ_OCTETS = 1 << 16
#: As what UMQ goes over WebSocket (docs/protocols/umq.md).
_SUBPROTOCOL = "umq"
_PORTS = {"ws": 80, "wss": 443}


#: How the bus names the message that it cannot take.
_MESSAGE = re.compile(r"message (\d{1,9}): ")


class BatchNotTaken(LocalError):
    """The bus has not taken a batch, or nobody knows. The text says why, and where."""

    reason = "batch"

    def __init__(self, detail: str, place: int | None = None) -> None:
        """`place` is that of the message, among those of the call, because of which it was not taken."""
        super().__init__(detail)
        self.place = place


class BatchConnection:
    """One connection, welcomed. A context manager."""

    def __init__(self, url: str, user: str | None = None, password: str | None = None) -> None:
        """`url` is ``ws://HOST[:PORT]/PATH`` or ``wss://...``. Raises `BatchNotTaken`."""
        self._url = url
        self._peer = Peer(Role.CLIENT)
        self._ws = WSConnection(ConnectionType.CLIENT)
        self._parts: list[str | bytes] = []
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise BatchNotTaken(f"{url!r} is no URL of a bus's UMQ listener: ws://HOST:PORT/umq or wss://HOST:PORT/umq")
        place = (parts.hostname, parts.port or _PORTS[parts.scheme])
        try:
            self._socket = socket.create_connection(place, _CONNECT_SECONDS)
            if parts.scheme == "wss":
                self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=parts.hostname)
        except OSError as error:
            raise BatchNotTaken(f"cannot connect to {url}: {error}") from None
        try:
            self._socket.settimeout(_ANSWER_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._send(self._ws.send(Request(parts.netloc, parts.path or "/umq", subprotocols=[_SUBPROTOCOL])))
            self._peer.hello(_credentials(user, password))
            self._flush_after_opening()
            self._wait_for(Greeted)
        except BaseException:
            self.close()
            raise

    def put_batch(
        self, producer: str, number: int, attachments: Sequence[bytes], part: BatchPart = WHOLE_BATCH
    ) -> bool:
        """Put a batch, or a part of it; False if it had come before. Raises `BatchNotTaken`; it may have come then if
        the connection was lost."""
        asked: list[object] = ["put_batch", producer, number]
        if part != WHOLE_BATCH:
            asked += [part.number, part.of, part.digest]
        self._peer.call(json.dumps(asked).encode(), attachments)
        self._flush()
        event = self._wait_for(Answered, Raised)
        if isinstance(event, Raised):
            named = _MESSAGE.search(event.text)
            raise BatchNotTaken(
                f"{self._url} has refused batch {number}{f' of {producer}' if producer else ''}: {event.text}",
                None if named is None else int(named[1]),
            )
        assert isinstance(event, Answered)
        return bool(json.loads(event.payload))

    def close(self) -> None:
        """Go."""
        self._socket.close()

    def __enter__(self) -> BatchConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _flush_after_opening(self) -> None:
        while True:
            for event in self._receive():
                if isinstance(event, AcceptConnection):
                    self._flush()
                    return
                if isinstance(event, RejectConnection):
                    raise BatchNotTaken(f"there is no UMQ at {self._url}: HTTP status {event.status_code}")

    def _flush(self) -> None:
        """Send what the conversation wants to say."""
        while True:
            for text in self._peer.take_texts():
                self._send(self._ws.send(TextMessage(text.decode())))
            if not self._peer.has_attachments:
                return
            attachment = self._peer.take_attachment()
            if attachment is not None:
                self._send(self._ws.send(BytesMessage(attachment)))

    def _wait_for(self, *kinds: type[Event]) -> Event:
        while True:
            for unit in self._units():
                heard = (
                    self._peer.receive_text(unit.encode()) if isinstance(unit, str) else self._peer.receive_binary(unit)
                )
                for event in heard:
                    if isinstance(event, Failed):
                        raise BatchNotTaken(f"{self._url} has ended the conversation: {event.text}")
                    if isinstance(event, kinds):
                        return event

    def _units(self) -> Iterator[str | bytes]:
        """The whole messages of the next octets."""
        for event in self._receive():
            if isinstance(event, Ping):
                self._send(self._ws.send(event.response()))
            elif isinstance(event, CloseConnection):
                raise BatchNotTaken(f"{self._url} has closed the connection: {event.code} {event.reason or ''}".strip())
            elif isinstance(event, TextMessage | BytesMessage):
                self._parts.append(event.data if isinstance(event.data, str) else bytes(event.data))
                if event.message_finished:
                    parts, self._parts = self._parts, []
                    yield b"".join(parts) if isinstance(parts[0], bytes) else "".join(parts)  # type: ignore[arg-type]

    def _receive(self) -> Sequence[object]:
        try:
            octets = self._socket.recv(_READ_OCTETS)
        except OSError as error:
            raise BatchNotTaken(f"{self._url} does not answer, {error}: the batch may have come") from None
        if not octets:
            raise BatchNotTaken(f"{self._url} has gone: the batch may have come")
        self._ws.receive_data(octets)
        return list(self._ws.events())

    def _send(self, octets: bytes) -> None:
        try:
            self._socket.sendall(octets)
        except OSError as error:
            raise BatchNotTaken(f"{self._url} has gone, {error}: the batch may have come") from None


def _credentials(user: str | None, password: str | None) -> bytes:
    """What the hello says, see `fmqbus.protocols.umq.credentials`."""
    if user is None:
        return b""
    response = base64.b64encode(f"\0{user}\0{password or ''}".encode()).decode()
    return json.dumps({"mechanism": "PLAIN", "response": response}).encode()
