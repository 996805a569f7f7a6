"""A client of a real broker that speaks MicroMsg2: a blocking socket, with a time limit for each step."""

from __future__ import annotations

import socket
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.micromsg2.connection import Connection, Role, State
from fmqbus.protocols.micromsg2.events import NOTHING, Event
from fmqbus.protocols.micromsg2.fields import to_text
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.testing.micromsg2 import messages_of, offer

_ECHO = b"topic/the/broker/has/taken/in/all/that/was/said"
_READ_OCTETS = 1 << 18


class Client:
    """One connection, from its handshake on; a context manager that closes it.

    With ``ack`` or ``batch-ack`` among what is required, nothing that is heard is acknowledged but by `accept`.
    """

    def __init__(self, connection: socket.socket, required: str = "pubsub") -> None:
        self.socket = connection
        self.conversation = Connection(Role.CLIENT, offer(identity=b"client", required=required))
        self._told: deque[Event | Received] = deque()
        self._write()
        while self.conversation.state is State.REPLY_AWAITED:
            data = self.read()
            assert data is not None, "the broker closed the connection before it shook hands"
            self._told.extend(data)

    # what is said

    def send(
        self, destination: bytes, payload: bytes, properties: Mapping[str, str] = NO_PROPERTIES, tag: Any = None
    ) -> None:
        """Send a message, as soon as there is room for it; `tag` comes back when it is acknowledged."""
        self.conversation.send(destination, payload, properties, tag)
        self._write()

    def subscribe(self, destination: bytes, *filters: str) -> None:
        """Subscribe to a topic, or consume a queue."""
        said = [("destination", to_text(destination)), *(("filter", clause) for clause in filters)]
        self.conversation.command("subscribe", tuple(said))
        self._write()

    def unsubscribe(self, destination: bytes) -> None:
        """End that."""
        self.conversation.command("unsubscribe", (("destination", to_text(destination)),))
        self._write()

    def accept(self, number: int) -> None:
        """Acknowledge all messages up to this one."""
        self.conversation.safe(number)
        self.conversation.acknowledge_now()
        self._write()

    # what is heard

    def read(self) -> list[Event | Received] | None:
        """What one read brings, messages one by one; None if the broker has closed the connection."""
        try:
            data = self.socket.recv(_READ_OCTETS)
        except ConnectionResetError:
            return None
        if not data:
            return None
        told: list[Event | Received] = []
        for event in self.conversation.receive(data):
            if event is not NOTHING:
                told += list(messages_of([event])) or [event]
        self._write()
        return told

    def hear(self) -> Event | Received | None:
        """What is told next; None if the broker has closed the connection."""
        while not self._told:
            told = self.read()
            if told is None:
                return None
            self._told.extend(told)
        return self._told.popleft()

    def hear_message(self) -> Received:
        """The next message; what else is told before it is left out."""
        while not isinstance(event := self.hear(), Received):
            assert event is not None, "the broker closed the connection"
        return event

    def heard(self) -> list[Event | Received]:
        """All that has come up to now. The broker has then acted on what this client said: an echo comes behind it."""
        self.subscribe(_ECHO)
        self.send(_ECHO, b"")
        self.unsubscribe(_ECHO)
        told = []
        while not (isinstance(event := self.hear(), Received) and event.destination == _ECHO):
            assert event is not None, f"the broker closed the connection after {told!r}"
            told.append(event)
        return told

    # how it goes

    def close(self) -> None:
        """Go in good order."""
        self.socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _write(self) -> None:
        if chunks := self.conversation.take_output():
            # that the broker has gone is told by reading, after all that it has said before
            with suppress(ConnectionError):
                self.socket.sendall(b"".join(chunks))
