"""A MicroMsg2 server in memory: the other end of the conversation, which says and acknowledges what a test tells it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.task import Clock

from fmqbus.client.micromsg2 import MicroMsg2Client
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.events import Event, Opened
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.testing.micromsg2 import End, messages_of, server
from tests.client.memory_bus import MemoryEndpoint, Wire


def encode_message(number: int, destination: bytes, payload: bytes) -> bytes:
    """A message as a server writes it that keeps to no window."""
    head = b"\0" + number.to_bytes(2, "big") + bytes([len(destination)]) + destination
    return head + b"\0\0" + bytes([len(payload)]) + payload


class Served(Wire):
    """One connection, and the server's end of it."""

    def __init__(self, clock: Clock, end: End) -> None:
        super().__init__(clock)
        self.end = end
        self._told: list[Event] = []

    def hear(self) -> list[Event]:
        """What the server is told of what the client has written since this was last called, after the handshake."""
        self._read()
        told, self._told = self._told, []
        return told

    def messages(self) -> list[Received]:
        """The messages among that."""
        return list(messages_of(self.hear()))

    def payloads(self) -> list[bytes]:
        """Their payloads."""
        return [message.payload for message in self.messages()]

    def answer(self) -> None:
        """Let the client hear what the server has to say."""
        if octets := self.end.written():
            self.say(octets)

    def acknowledge(self, number: int) -> None:
        """All that the client has sent up to this number is safe."""
        self.end.connection.safe(number)
        self.end.connection.acknowledge_now()
        self.answer()

    def send(self, destination: bytes, *payloads: bytes, **properties: str) -> None:
        """Send messages, each tagged with its payload."""
        self._read()
        for payload in payloads:
            self.end.connection.send(destination, payload, properties, payload)
        self.answer()

    def refuse(self, text: str) -> None:
        """Say ERROR, and go on."""
        self._read()
        self.end.connection.refuse(text)
        self.answer()

    def fail(self, text: str) -> None:
        """Say ERROR, and go."""
        self.end.connection.fail(text)
        self.answer()
        self.break_off()

    def _read(self) -> None:
        self._told += [event for event in self.end.hear(self.written()) if not isinstance(event, Opened)]


class MicroMsg2Bus(MemoryEndpoint[Served]):
    """A server, and its client."""

    def __init__(self, make_end: Callable[[], End] = server, limits: Any = None, **options: Any) -> None:
        super().__init__(lambda clock: Served(clock, make_end()))
        self.waited: list[int] = []
        self.client = MicroMsg2Client(
            self,
            self.clock,
            limits=attrs.evolve(DEFAULT_LIMITS, **(limits or {})),
            retry_policy=self._wait,
            **options,
        )

    def start(self) -> Served:
        """Connect the client, handshake and all; returns the connection, with nothing more heard yet."""
        self.client.startService()
        return self.shake_hands()

    def come_back(self) -> Served:
        super().come_back()
        return self.shake_hands()

    def shake_hands(self) -> Served:
        """Let the client's first step be answered."""
        self.connection.hear()
        self.connection.answer()
        return self.connection

    def _wait(self, attempt: int) -> float:
        self.waited.append(attempt)
        return 1.0
