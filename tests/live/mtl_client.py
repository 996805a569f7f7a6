"""MTL's clients for tests: nothing but sockets of ZeroMQ, JSON, and the octets of the text."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import zmq

from tests.live.broker import PATIENCE_SECONDS, Broker

LISTEN = "mtl:zmq:0:data=0"
LEASE, RESPONSE, SUMMON, DISMISS, CONTENT, CONFIRM, REJECT, PING, PONG = range(1, 10)
OPEN = {"protocol": {"name": "MTL", "version": 1}, "virtual-host": "test-env"}

_PATIENCE_MILLISECONDS = int(PATIENCE_SECONDS * 1000)


def ports_of(broker: Broker) -> dict[str, int]:
    """Where the sockets of a broker listen, by their names."""
    told = broker.wait_for(r"MTL has (\S.*)")[1]
    return {name: int(port) for name, _, port in (word.partition("=") for word in told.split(", "))}


def named(kind: int, sequence: int, name: bytes) -> bytes:
    """The header of a Lease, Summon or Dismiss; and how that of a Content begins."""
    return struct.pack(">BQB", kind, sequence, len(name)) + name


class Control:
    """A client on the control flow."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self.socket = socket
        self._has_delimiter = socket.type == zmq.DEALER

    def ask(self, command: str, **members: Any) -> tuple[int, dict[str, Any]]:
        """The code and the body of the answer."""
        self.say(command.encode(), json.dumps(members).encode())
        return self.answer()

    def say(self, *parts: bytes) -> None:
        """The very parts, behind the delimiter."""
        self.socket.send_multipart([b"", *parts] if self._has_delimiter else parts)

    def answer(self) -> tuple[int, dict[str, Any]]:
        """What comes next."""
        assert self.socket.poll(_PATIENCE_MILLISECONDS), "no answer"
        *_, code, body = self.socket.recv_multipart()
        return int(code), json.loads(body)

    def open(self, profile: str) -> Control:
        """Open, and choose a profile."""
        assert self.ask("Connection.Open", **OPEN)[0] == 201
        assert self.ask("Connection.Profile", profile=profile) == (200, {"status": "OK"})
        return self

    def lease(self, kind: str, *resources: str, confirm: str = "none", **more: Any) -> bytes:
        """Get one."""
        code, body = self.ask(f"Connection.{kind}", resources=resources, confirm=confirm, **more)
        assert code == 202, body
        lease: str = body["lease"]
        return lease.encode()


class Flow:
    """A client on a data flow."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self.socket = socket
        self._sequence = 0
        #: What has come beside what was waited for: headers and bodies.
        self.waiting: list[tuple[bytes, bytes]] = []

    def say(self, header: bytes, body: bytes = b"") -> None:
        """One command."""
        self.socket.send_multipart([header, body])

    def hear(self, kind: int) -> tuple[bytes, bytes]:
        """The next of a kind; others are kept, and Pings answered."""
        for number, (header, body) in enumerate(self.waiting):
            if header[0] == kind:
                del self.waiting[number]
                return header, body
        while (come := self.hear_any())[0][0] != kind:
            self.waiting.append(come)
        return come

    def hear_any(self) -> tuple[bytes, bytes]:
        """What comes next; Pings are answered."""
        while True:
            assert self.socket.poll(_PATIENCE_MILLISECONDS), f"nothing comes after {self.waiting}"
            header, body = self.socket.recv_multipart()
            if header[0] != PING:
                return header, body
            self.say(bytes((PONG,)))

    def asked(self, kind: int, name: bytes) -> int:
        """The code of the Response to a Lease, Summon or Dismiss."""
        self._sequence += 1
        self.say(named(kind, self._sequence, name))
        header, body = self.hear(RESPONSE)
        assert header == struct.pack(">BQ", RESPONSE, self._sequence)
        return int(body)

    def content(self, sequence: int, body: bytes, resource: bytes = b"", table: bytes = bytes(4)) -> None:
        """Send one."""
        self.say(named(CONTENT, sequence, resource) + table, body)

    def settle(self, kind: int, sequence: int, *booleans: bool) -> None:
        """Confirm or reject."""
        self.say(struct.pack(f">BQ{len(booleans)}?", kind, sequence, *booleans))

    def next_content(self) -> tuple[int, bytes, bytes, bytes]:
        """The sequence, the resource, the table with its length, and the body of the next one."""
        header, body = self.hear(CONTENT)
        sequence, octets = struct.unpack_from(">QB", header, 1)
        return sequence, header[10 : 10 + octets], header[10 + octets :], body

    def contents(self) -> Sequence[tuple[int, bytes, bytes, bytes]]:
        """Those that have come until a Ping is answered."""
        self.say(bytes((PING,)))
        pong = self.hear(PONG)
        assert pong == (bytes((PONG,)), b"")
        come = [item for item in self.waiting if item[0][0] == CONTENT]
        return [self.next_content() for _ in come]


class Place:
    """The sockets of a broker, and clients of them; a context manager that closes all."""

    def __init__(self, broker: Broker) -> None:
        self.ports = ports_of(broker)
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sockets: list[zmq.Socket[bytes]] = []

    def socket(self, name: str, kind: int, identity: bytes | None = None) -> zmq.Socket[bytes]:
        """A socket that is connected to one of them; the control socket, where there is no other."""
        socket = self.context.socket(kind)
        self._sockets.append(socket)
        if identity is not None:
            socket.identity = identity
        socket.linger = 0
        # whoever says much at once is not to lose any of it
        socket.set_hwm(0)
        socket.connect(f"tcp://127.0.0.1:{self.ports.get(name, self.ports['control'])}")
        return socket

    def control(self, kind: int = zmq.REQ, identity: bytes | None = None) -> Control:
        """Somebody on the control flow."""
        return Control(self.socket("control", kind, identity))

    def flow(self, identity: bytes | None = None) -> Flow:
        """Somebody on a data flow."""
        return Flow(self.socket("data", zmq.DEALER, identity))

    def close(self) -> None:
        """Close all."""
        for socket in self._sockets:
            socket.close()
        self.context.term()

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
