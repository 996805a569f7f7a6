"""How UMQ says it, over WebSocket. It has all the words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from fmqbus.client.queue_message import QueueMessage
from fmqbus.client.umq import UMQClient
from tests.live.broker import Broker
from tests.soak.connected import RETRY_POLICY, Connected
from tests.soak.mail import JOBS, METHOD, MODULE
from tests.soak.words import Calls, Consumes, Enqueues, Feed, Retains, Serves, Subscribes, Taken, Watches, death_of


class UMQ(Connected[UMQClient], Subscribes, Retains, Watches, Enqueues, Consumes, Calls, Serves):
    """A client of UMQ."""

    protocol = "umq"

    def __init__(self, address: str, name: str, reactor: Any) -> None:
        super().__init__(address, name, reactor)
        self._is_job_next = False

    @classmethod
    def address(cls, broker: Broker) -> str:
        return f"ws://127.0.0.1:{broker.port_of('umq:')}/umq"

    def make(self, address: str, name: str) -> UMQClient:
        return UMQClient(address, self.reactor, retry_policy=RETRY_POLICY)

    def publish(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.publish(topic, payload)

    def subscribe(self, pattern: str, heard: Callable[[str, bytes], None]) -> Feed:
        return self.client.subscribe(pattern, callback=lambda message: heard(message.topic, message.payload))

    def retain(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.retain(topic, payload)

    def watch(self, pattern: str, told: Callable[[int], None]) -> object:
        return self.client.watch(pattern, callback=lambda change: told(change.subscribers))

    def enqueue(self, queue: str, payload: bytes) -> Deferred[None]:
        return self.client.enqueue(queue, payload)

    def consume(self, queue: str, take: Callable[[Taken], None]) -> object:
        def taken(message: QueueMessage) -> None:
            died_of = death_of(message.properties)
            take(
                Taken(
                    queue,
                    message.payload,
                    message.is_redelivered,
                    died_of,
                    message.accept,
                    message.release,
                    message.reject,
                )
            )

        return self.client.consume(queue, window=20, callback=taken)

    def call(self, argument: str) -> Deferred[str]:
        """In turn what a client serves, and what workers do."""
        self._is_job_next = not self._is_job_next
        if self._is_job_next:
            return self.client.call(f"job/{JOBS}", f"{MODULE}:echo", [argument])
        return self.client.call(METHOD, argument)

    def serve(self) -> Deferred[None]:
        return self.client.serve(METHOD, lambda arguments, attachments: arguments[0])
