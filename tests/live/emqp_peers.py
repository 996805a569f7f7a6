"""Peers of a real broker that speak eMQP: blocking ZeroMQ sockets, with a time limit for each step.

They play EventMQ's programs, and say besides what those never would. tests/interop has the programs themselves.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import Any

import zmq

from fmqbus.protocols.emqp.codec import VERSION
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport
from tests.live.broker import PATIENCE_SECONDS, Broker

#: All sockets, at ports that the kernel chooses.
LISTEN = "emqp:zmq:frontend=0:backend=0:admin=0:pubin=0:pubout=0"
FRONTEND, BACKEND, ADMIN, PUBIN, PUBOUT = "frontend", "backend", "admin", "pubin", "pubout"

#: A message without the empty part and the version: a word, an id, fields.
Said = list[bytes]

_PATIENCE_MILLISECONDS = int(PATIENCE_SECONDS * 1000)
_BEAT_MILLISECONDS = 200


def body_of(callable: str, *args: Any, path: str = "jobs", **kwargs: Any) -> bytes:
    """A job as EventMQ writes it."""
    members = {"callable": callable, "path": path, "args": args, "kwargs": kwargs, "class_args": [], "class_kwargs": {}}
    return json.dumps(["run", members]).encode()


def args_of(request: Said) -> Any:
    """The positional arguments of a job that a worker was given."""
    return json.loads(request[4])[1]["args"]


def result(value: Any) -> bytes:
    """What a worker's REPLY says."""
    return json.dumps({"value": value}).encode()


def ports_of(broker: Broker) -> dict[str, int]:
    """Where the sockets of its first listener of eMQP are, by their names."""
    ports = broker.wait_for(r"eMQP has (.*)")[1].split(", ")
    return {name: int(port) for name, _, port in (one.partition("=") for one in ports)}


class Peer:
    """One socket."""

    #: Whether it says that it is there while it waits for something.
    beats = False

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self.socket = socket
        socket.linger = 0
        socket.rcvtimeo = socket.sndtimeo = _PATIENCE_MILLISECONDS
        self._numbers = count(1)
        self._waiting: deque[Said] = deque()

    def say(self, word: str, *fields: bytes | str, id: bytes = b"") -> bytes:
        """Say a command. Returns the message's id, which is made here if none is given."""
        id = id or b"id-%d" % next(self._numbers)
        parts = [VERSION, word, id, *fields]
        # a REQ socket puts the empty part there by itself
        self.send(*([] if self.socket.type == zmq.REQ else [b""]), *parts)
        return id

    def send(self, *parts: bytes | str) -> None:
        """Send parts, whatever they are."""
        self.socket.send_multipart([part.encode() if isinstance(part, str) else part for part in parts])

    def hear(self, *words: bytes) -> Said:
        """The next message, or the next with one of these words; HEARTBEATs are passed over unless they are asked for,
        and what else comes meanwhile is heard later."""
        passed: list[Said] = []
        try:
            while True:
                said = self._waiting.popleft() if self._waiting else self._receive()
                if said[0] in words or (not words and said[0] != b"HEARTBEAT"):
                    return said
                if said[0] != b"HEARTBEAT":
                    passed.append(said)
        finally:
            self._waiting.extendleft(reversed(passed))

    def heard(self) -> list[Said]:
        """What has been said to this peer up to now, without HEARTBEATs: the answer to a question comes behind it."""
        id = self.say("STATUS")
        told = []
        while (said := self.hear())[3:] != [id]:
            told.append(said)
        return told

    def passed(self) -> list[Said]:
        """What has come while something else was waited for."""
        passed, self._waiting = list(self._waiting), deque()
        return passed

    def close(self) -> None:
        """Go without a word."""
        self.socket.close(0)

    def _receive(self) -> Said:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.beats and not self.socket.poll(_BEAT_MILLISECONDS) and time.monotonic() < deadline:
            self.say("HEARTBEAT")
        parts = self.socket.recv_multipart()
        if self.socket.type != zmq.REQ:
            assert parts.pop(0) == b"", parts
        version, *said = parts
        assert version == VERSION, parts
        for part in said:
            part.decode()
        return said


class Worker(Peer):
    """One that has INFORMed, or is about to."""

    beats = True

    def inform(self, queues: str | Sequence[tuple[int, str]]) -> Worker:
        """INFORM, and wait for the ACK."""
        id = self.say("INFORM", queues if isinstance(queues, str) else json.dumps(queues), "worker")
        assert self.hear(b"ACK")[2] == id
        return self

    def ready(self, times: int = 1) -> Worker:
        """So many jobs more."""
        for _ in range(times):
            self.say("READY")
        return self

    def job(self) -> Said:
        """The next job: the word, its id, queue, headers, body."""
        return self.hear(b"REQUEST")

    def reply(self, request: Said, value: Any) -> None:
        """A job has ended."""
        self.say("REPLY", value if isinstance(value, bytes) else result(value), request[1])


class Client(Peer):
    """One that hands in jobs."""

    def request(self, queue: str, body: bytes, headers: str = "", id: bytes = b"") -> bytes:
        """Hand in a job; returns its id."""
        return self.say("REQUEST", queue, headers, body, id=id)

    def submit(self, queue: str, body: bytes, headers: str = "", id: bytes = b"") -> bytes:
        """The same, and wait until the broker has taken it over."""
        id = self.request(queue, body, headers, id)
        said = self.hear(b"ACK") if "reply-requested" in headers else self.hear(b"REPLY")
        assert said[2] == id, said
        return id

    def result(self, id: bytes) -> Any:
        """What has become of a job."""
        _, _, body, about = self.hear(b"REPLY")
        assert about == id, (body, about)
        return json.loads(body)


class Place:
    """The sockets of a broker, and peers of them; a context manager that closes all."""

    def __init__(self, broker: Broker, passport: Passport = NO_PASSPORT) -> None:
        """`passport` is what all of them show."""
        self.ports = ports_of(broker)
        self._passport = passport
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._sockets: list[zmq.Socket[bytes]] = []

    def socket(self, name: str = FRONTEND, identity: bytes | None = None, kind: int = zmq.DEALER) -> zmq.Socket[bytes]:
        """A socket that is connected to one of them."""
        socket = self._context.socket(kind)
        self._sockets.append(socket)
        if identity is not None:
            socket.identity = identity
        socket.linger = 0
        self._passport.give(socket)
        socket.connect(f"tcp://127.0.0.1:{self.ports[name]}")
        return socket

    def client(self, identity: bytes | None = None, kind: int = zmq.DEALER) -> Client:
        """Somebody who hands in jobs."""
        return Client(self.socket(FRONTEND, identity, kind))

    def worker(self, identity: bytes | None = None, name: str = BACKEND) -> Worker:
        """Somebody who does them; it has not INFORMed."""
        return Worker(self.socket(name, identity))

    def peer(self, name: str, identity: bytes | None = None) -> Peer:
        """Anybody."""
        return Peer(self.socket(name, identity))

    def subscriber(self, *prefixes: bytes) -> zmq.Socket[bytes]:
        """One that hears what is published; it may be a while until that has got through."""
        socket = self.socket(PUBOUT, kind=zmq.SUB)
        socket.rcvtimeo = _PATIENCE_MILLISECONDS
        for prefix in prefixes:
            socket.subscribe(prefix)
        return socket

    def close(self) -> None:
        """Close all."""
        for socket in self._sockets:
            socket.close()
        self._context.term()

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
