"""A UMQ bus in memory: the other end of the conversation, which says what a test tells it. Lengths carry it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs
from twisted.internet.task import Clock

from fmqbus.client.carriers import Lengths
from fmqbus.client.umq import UMQClient
from fmqbus.limits import DEFAULT_LIMITS, MIB
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.events import Called, Event
from fmqbus.testing.umq import server
from fmqbus.transports.length_prefixed import UnitDecoder, encode_unit
from tests.client.memory_bus import MemoryEndpoint, Wire


class Served(Wire):
    """One connection, and the bus's end of it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.end = server(is_open=False)
        self._decoder = UnitDecoder(16 * MIB)

    def hear(self) -> Sequence[Event]:
        """What the bus is told of what the client has written since this was last called."""
        units = [unit if is_binary else unit.decode() for is_binary, unit in self._decoder.feed(self.written())]
        return self.end.hear(*units)

    def calls(self) -> list[Any]:
        """The calls among that, read; their ids are those of `called`."""
        self.called = [event for event in self.hear() if isinstance(event, Called)]
        return [json.loads(call.payload) for call in self.called]

    def tell(self) -> None:
        """Let the client hear what the bus has said, in one read."""
        units = self.end.sent()
        frames = [encode_unit(isinstance(u, bytes), u if isinstance(u, bytes) else u.encode()) for u in units]
        self.say(*(chunk for frame in frames for chunk in frame))

    def answer(self, place: int, result: Any = None, attachments: Sequence[Attachment] = ()) -> None:
        """Answer one of the calls that `calls` has told last."""
        self.end.peer.answer(self.called[place].id, json.dumps(result).encode(), attachments)
        self.tell()

    def refuse(self, place: int, code: int, text: str) -> None:
        """Answer it by an error."""
        self.end.peer.refuse(self.called[place].id, code, text)
        self.tell()

    def publish(self, id: str, update: Any, attachments: Sequence[Attachment] = ()) -> None:
        """Tell news of a topic."""
        if int(id, 36) not in self.end.peer._published:
            self.end.peer.open_topic(int(id, 36), id)
        self.end.peer.update(int(id, 36), json.dumps(update).encode(), attachments)
        self.tell()


class UMQBus(MemoryEndpoint[Served]):
    """A bus, and its client."""

    def __init__(self, limits: Any = None, **options: Any) -> None:
        super().__init__(Served)
        self.client = UMQClient(
            self,
            self.clock,
            carrier=Lengths(16 * MIB),
            limits=attrs.evolve(DEFAULT_LIMITS, **(limits or {})),
            retry_policy=lambda attempt: 1.0,
            **options,
        )

    def start(self) -> Served:
        """Connect the client, greeting and all; returns the connection."""
        self.client.startService()
        return self.greet()

    def come_back(self) -> Served:
        super().come_back()
        return self.greet()

    def greet(self) -> Served:
        """Welcome the client."""
        self.connection.hear()
        self.connection.end.peer.welcome()
        self.connection.tell()
        return self.connection
