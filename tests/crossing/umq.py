"""How UMQ says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from socket import socket

from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.umq.events import Called
from fmqbus.protocols.umq.updates import as_text
from tests.crossing.speakers import Heard, Speaker
from tests.live.umq_client import Client, Refused


class UMQ(Speaker):
    """A client of UMQ, over WebSocket."""

    protocol = "umq"
    has_properties = True
    has_filters = False
    has_copies = True
    has_marks = False
    has_empty = True
    longest_topic = 255

    def __init__(self, connection: socket) -> None:
        self.client = Client(connection)
        self._subscribed: dict[bytes, str] = {}
        #: What the bus could not do, in its words.
        self.errors: list[str] = []

    def publish(
        self, topic: bytes, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        self._give("publish", topic, payload, {"retain": retain, "properties": dict(properties)})

    def leave_will(self, topic: bytes, payload: bytes) -> None:
        self._give("will", topic, payload, {})

    def enqueue(self, queue: bytes, payload: bytes) -> None:
        """Put a message into a queue."""
        self._give("enqueue", queue, payload, {})

    def _give(self, method: str, name: bytes, payload: bytes, options: Mapping[str, object]) -> None:
        text = as_text(payload)
        attachments = [payload] if text is None else []
        try:
            self.client.call(method, name.decode(), text, options, attachments=attachments)
        except Refused as refused:
            self.errors.append(str(refused))

    def subscribe(self, pattern: bytes, *filters: str) -> None:
        assert not filters, "UMQ has none"
        self._subscribed[pattern] = self.client.topic("subscription")
        self.client.call("subscribe", pattern.decode(), self._subscribed[pattern])

    def unsubscribe(self, pattern: bytes) -> None:
        self.client.unsubscribe(self._subscribed.pop(pattern))
        self.client.call("list")

    def consume(self, queue: bytes) -> None:
        """Consume a queue, whose messages are heard as such."""
        self.client.call("consume", queue.decode(), self.client.topic("queue"))

    def watch(self, pattern: bytes) -> None:
        """Watch who subscribes."""
        self.client.call("watch", pattern.decode(), self.client.topic("watch"))

    def heard(self) -> Sequence[Heard]:
        return [Heard(answer.tag, answer.payload) for answer in self.client.answers()] + [
            Heard(
                said["topic"].encode(),
                said["text"].encode() if "text" in said else bytes(attachments[0]),  # type: ignore[arg-type]
                said.get("properties", NO_PROPERTIES),
            )
            for name, said, attachments in self.client.updates()
            if name != "watch"
        ]

    def demand(self) -> Sequence[tuple[bytes, int]]:
        """What has changed since, of what is watched."""
        return [
            (said["pattern"].encode(), said["subscribers"])
            for name, said, _ in self.client.updates()
            if name == "watch"
        ]

    def ask(self, method: bytes, argument: bytes) -> None:
        """Call a method; its answer is heard as a message."""
        self.client.begin([method.decode(), argument.decode()], tag=method)

    def ask_job(self, queue: bytes, name: str, arguments: Sequence[object]) -> None:
        """Have a worker of eMQP's do a job; its result is heard as a message."""
        self.client.begin([f"job/{queue.decode()}", name, arguments], tag=queue)

    def answer(self, called: Called, value: object) -> None:
        """Answer a call."""
        self.client.answer(called, value)

    def serve(self, method: str) -> None:
        """Answer calls of a method."""
        self.client.call("serve", method)

    def next_call(self) -> Called:
        """The next one that comes."""
        while not isinstance(event := self.client.wait(), Called):
            pass
        return event

    def close(self) -> None:
        self.client.close()
