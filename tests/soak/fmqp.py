"""How FMQP says it. It has no queues and no calls, but the demand."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from fmqbus.client.fmqp import FMQPClient
from tests.live.broker import Broker
from tests.soak.connected import Connected
from tests.soak.words import Feed, Retains, Subscribes, Watches


class FMQP(Connected[FMQPClient], Subscribes, Retains, Watches):
    """A client of FMQP."""

    protocol = "fmqp"

    @classmethod
    def address(cls, broker: Broker) -> str:
        return f"fmqp://127.0.0.1:{broker.port_of('fmqp:')}"

    def make(self, address: str, name: str) -> FMQPClient:
        return FMQPClient(address, self.reactor)

    def publish(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.publish(topic, payload)

    def subscribe(self, pattern: str, heard: Callable[[str, bytes], None]) -> Feed:
        return self.client.subscribe(pattern, callback=lambda message: heard(message.topic, message.payload))

    def retain(self, topic: str, payload: bytes) -> Deferred[None]:
        """There is no acknowledgement, but the way back of what is said behind it."""
        self.client.publish(topic, payload, retain=True)
        return Deferred.fromCoroutine(self.client.sync())

    def watch(self, pattern: str, told: Callable[[int], None]) -> object:
        return self.client.demand(pattern, callback=lambda change: told(change.subscribers))
