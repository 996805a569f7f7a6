"""How MTL says it: topics and queues, with confirmations both ways. It has no calls, and does not ask who listens."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred

from fmqbus.client.mtl import MTLClient
from fmqbus.client.queue_message import QueueMessage
from tests.live.broker import Broker
from tests.live.mtl_client import LISTEN, ports_of
from tests.soak.connected import RETRY_POLICY, Connected
from tests.soak.words import Consumes, Enqueues, Feed, Retains, Subscribes, Taken, death_of

#: A broker that has gone is missed after three times this; usually it takes longer.
_PING_SECONDS, _ANSWER_SECONDS = 2.0, 6.0


class MTL(Connected[MTLClient], Subscribes, Retains, Enqueues, Consumes):
    """A client of MTL, which sends nothing twice."""

    protocol = "mtl"
    listens = LISTEN
    has_to_beat = True

    @classmethod
    def address(cls, broker: Broker) -> str:
        ports = ports_of(broker)
        return f"mtl://127.0.0.1:{ports['control']}/soak"

    @classmethod
    def listens_again(cls, broker: Broker) -> str:
        return "mtl:zmq:" + ":".join(f"{name}={port}" for name, port in ports_of(broker).items())

    def make(self, address: str, name: str) -> MTLClient:
        return MTLClient(
            address,
            self.reactor,
            resend=False,
            answer_seconds=_ANSWER_SECONDS,
            ping_seconds=_PING_SECONDS,
            retry_policy=RETRY_POLICY,
        )

    def publish(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.publish(topic, payload)

    def subscribe(self, pattern: str, heard: Callable[[str, bytes], None]) -> Feed:
        return self.client.subscribe(pattern, callback=lambda message: heard(message.topic, message.payload))

    def retain(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.publish(topic, payload, retain=True)

    def enqueue(self, queue: str, payload: bytes) -> Deferred[None]:
        return self.client.enqueue(queue, payload)

    def consume(self, queue: str, take: Callable[[Taken], None]) -> object:
        def taken(message: QueueMessage) -> None:
            died_of = death_of(message.properties)
            settles = (message.accept, message.release, message.reject)
            take(Taken(queue, message.payload, message.is_redelivered, died_of, *settles))

        return self.client.consume(queue, window=20, callback=taken)
