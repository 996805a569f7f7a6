"""How MicroMsg2 says it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from socket import socket

from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.micromsg2.events import ErrorReceived
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.properties import WrittenProperties, values_of
from tests.crossing.speakers import Heard, Speaker
from tests.live.micromsg2_client import Client

_TOPIC = b"topic/"


class MicroMsg2(Speaker):
    """A client of MicroMsg2, which has no acknowledgements for topics' sake."""

    protocol = "micromsg2"
    has_properties = True
    has_filters = True
    has_copies = False
    has_marks = False
    has_empty = True
    longest_topic = 255 - len(_TOPIC)

    def __init__(self, connection: socket) -> None:
        self._client = Client(connection, "pubsub")
        self._heard: list[Heard] = []
        #: What the bus could not do, in its words.
        self.errors: list[str] = []

    def publish(
        self, topic: bytes, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        self.send(_TOPIC + topic, payload, {**properties, "retain": "1"} if retain else properties)

    def leave_will(self, topic: bytes, payload: bytes) -> None:
        self.send(_TOPIC + topic, payload, {"will": "1"})

    def send(self, destination: bytes, payload: bytes, properties: Mapping[str, str] = NO_PROPERTIES) -> None:
        """Send to wherever."""
        self._client.send(destination, payload, properties)
        self._listen()

    def subscribe(self, pattern: bytes, *filters: str) -> None:
        self._client.subscribe(_TOPIC + pattern, *filters)
        self._listen()

    def unsubscribe(self, pattern: bytes) -> None:
        self._client.unsubscribe(_TOPIC + pattern)
        self._listen()

    def enqueue(self, queue: bytes, payload: bytes) -> None:
        """Put a message into a queue."""
        self.send(b"queue/" + queue, payload)

    def ask(self, method: bytes, argument: bytes) -> None:
        """Call a method; its answer is heard as a message."""
        self.consume(b"answers/" + method)
        self.send(b"method/" + method, argument, {"reply-to": f"answers/{method.decode()}"})

    def ask_job(self, queue: bytes, name: str, arguments: Sequence[object]) -> None:
        """Have a worker of eMQP's do a job; its result is heard as a message."""
        self.ask(b"job/" + queue, json.dumps([name, arguments]).encode())

    def consume(self, queue: bytes) -> None:
        """Consume a queue, whose messages are heard as such."""
        self._client.subscribe(b"queue/" + queue)
        self._listen()

    def heard(self) -> Sequence[Heard]:
        self._listen()
        heard, self._heard = self._heard, []
        return heard

    def close(self) -> None:
        self._client.close()

    def _listen(self) -> None:
        """Returns when the bus has acted on what was said."""
        for event in self._client.heard():
            if isinstance(event, ErrorReceived):
                self.errors.append(event.text)
            elif isinstance(event, Received):
                said = {name: value.text for name, value in values_of(WrittenProperties(event.properties)).items()}
                self._heard.append(Heard(event.destination.removeprefix(_TOPIC), event.payload, said))
