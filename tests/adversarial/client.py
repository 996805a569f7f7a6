"""FMQP clients that an attack is made with: one on a blocking socket, or a crowd of connections at once."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from fmqbus.model import SINGLY_ROUTE, Route
from fmqbus.protocols.fmqp.codec import DEBUG, MAX_BODY_OCTETS, SUBSCRIPTION, UNSUBSCRIBE, Decoder, Packet, encode
from tests.live.broker import PATIENCE_SECONDS

#: So deep that no attack's wildcards reach it.
_ECHO = b"echo/so/deep/that/no/wildcard/fits/it/by/chance"
_serial = count()

#: Closing with it resets the connection instead of ending it.
_RESET = struct.pack("ii", 1, 0)

_READ_OCTETS = 1 << 18


class _Alone(dict[bytes, Route]):
    """Has the decoder give each packet by itself."""

    def __missing__(self, topic: bytes) -> Route:
        return SINGLY_ROUTE


class Deadline:
    """A bound for what is waited for."""

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def check(self, what: str) -> None:
        """Raise `AssertionError` if it has passed."""
        assert time.monotonic() < self._end, f"in vain: {what}"


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Look again and again until it is so. Raises `AssertionError` if it never becomes so."""
    deadline = Deadline()
    while not is_so():
        deadline.check(what)
        time.sleep(0.01)


def reset(connection: socket.socket) -> None:
    """Close so that the other side gets a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.close()


class Client:
    """One client; what it does blocks, with a time limit."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._decoder = Decoder(MAX_BODY_OCTETS)
        self._inbox: deque[Packet] = deque()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.connection.close()

    def send(self, *packets: bytes) -> None:
        """Send all of this."""
        self.connection.sendall(b"".join(packets))

    def subscribe(self, pattern: bytes, flags: int = 0) -> None:
        """Subscribe, and return when the broker has done it."""
        self.send(encode(SUBSCRIPTION | flags, pattern))
        self.settle()

    def settle(self) -> list[Packet]:
        """Return when the broker has taken in all that this client has sent, with what came until then."""
        echo = b"%d" % next(_serial)
        self.send(encode(SUBSCRIPTION | DEBUG, _ECHO), encode(0, _ECHO, echo))
        self.send(encode(SUBSCRIPTION | UNSUBSCRIBE, _ECHO))
        before = []
        while (packet := self.take()).body != echo or packet.topic != _ECHO:
            before.append(packet)
        return before

    def take(self) -> Packet:
        """Return the next packet from the broker."""
        while not self._inbox:
            data = self.connection.recv(_READ_OCTETS)
            assert data, "the broker has closed the connection"
            self._inbox.extend(event for event in self._decoder.feed(data, _Alone()) if isinstance(event, Packet))
        return self._inbox.popleft()

    def number(self, topic: bytes, is_it: Callable[[int], bool]) -> int:
        """Return what the broker says under a topic of numbers as soon as it is as expected."""
        deadline = Deadline()
        self.send(encode(SUBSCRIPTION | DEBUG, topic))
        while True:
            packet = self.take()
            if packet.topic == topic and is_it(number := int.from_bytes(packet.body, "big")):
                self.send(encode(SUBSCRIPTION | UNSUBSCRIBE, topic))
                self.settle()
                return number
            deadline.check(f"another number under {topic.decode()} than {int.from_bytes(packet.body, 'big')}")

    def next_number(self, topic: bytes) -> int:
        """Return what the broker next says under a topic of numbers, not what it said last."""
        told = count()
        return self.number(topic, lambda _: next(told) > 0)

    def has_been_closed(self) -> bool:
        """Read until nothing more has come; tell whether the broker has closed the connection."""
        return _is_closed(self.connection)


class Crowd:
    """Many connections that all do the same."""

    def __init__(self, port: int, connections: int) -> None:
        self.connections = [socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) for _ in range(connections)]
        for connection in self.connections:
            connection.setblocking(False)

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *exception: object) -> None:
        for connection in self.connections:
            connection.close()

    def send(self, data: bytes) -> int:
        """Send this on each, all at once; returns how many took it all. The others were cut off by the broker."""
        deadline = Deadline()
        rest = {connection.fileno(): memoryview(data) for connection in self.connections}
        by_number = {connection.fileno(): connection for connection in self.connections}
        poller = select.epoll()
        for number in rest:
            poller.register(number, select.EPOLLOUT)
        took_all = 0
        while rest:
            deadline.check(f"{len(rest)} connections take nothing more")
            for number, _ in poller.poll(1.0):
                try:
                    sent = by_number[number].send(rest[number][:_READ_OCTETS])
                except BlockingIOError:
                    continue
                except OSError:
                    sent = -1
                rest[number] = rest[number][max(sent, 0) :]
                if sent < 0 or not rest[number]:
                    took_all += sent >= 0
                    poller.unregister(number)
                    del rest[number]
        poller.close()
        return took_all

    def closed(self) -> int:
        """How many the broker has closed by now."""
        return sum(map(_is_closed, self.connections))


def _is_closed(connection: socket.socket) -> bool:
    with suppress(BlockingIOError):
        try:
            while connection.recv(_READ_OCTETS, socket.MSG_DONTWAIT):
                pass
        except (ConnectionError, TimeoutError):
            pass
        return True
    return False
