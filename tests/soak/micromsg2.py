"""How MicroMsg2 says it, with acknowledgements both ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from twisted.internet.defer import Deferred

from fmqbus.client.micromsg2 import MicroMsg2Client
from fmqbus.client.queue_message import Delivery
from tests.live.broker import Broker
from tests.soak.connected import RETRY_POLICY, Connected
from tests.soak.mail import METHOD
from tests.soak.words import Calls, Consumes, Enqueues, Feed, Retains, Subscribes, Taken, death_of

#: Below it each has a queue of its own, to which its answers come.
ANSWERS = "soak/answers"


class MicroMsg2(Connected[MicroMsg2Client], Subscribes, Retains, Enqueues, Consumes, Calls):
    """A client of MicroMsg2, which sends nothing twice."""

    protocol = "micromsg2"

    def __init__(self, address: str, name: str, reactor: Any) -> None:
        super().__init__(address, name, reactor)
        self._answers = f"{ANSWERS}/{name}"
        self._numbers = count(1)
        self._asked: dict[str, Deferred[str]] = {}

    @classmethod
    def address(cls, broker: Broker) -> str:
        return f"micromsg2://127.0.0.1:{broker.port_of('micromsg2:')}"

    def make(self, address: str, name: str) -> MicroMsg2Client:
        return MicroMsg2Client(
            address, self.reactor, identity=name, required="batch-ack;pubsub", resend=False, retry_policy=RETRY_POLICY
        )

    def start(self, came: Callable[[], None], lost: Callable[[], None]) -> None:
        self.client.consume(self._answers, callback=self._answered)
        super().start(came, lost)

    def publish(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.publish(topic, payload)

    def subscribe(self, pattern: str, heard: Callable[[str, bytes], None]) -> Feed:
        return self.client.subscribe(pattern, callback=lambda message: heard(message.topic, message.payload))

    def retain(self, topic: str, payload: bytes) -> Deferred[None]:
        return self.client.publish(topic, payload, retain=True)

    def enqueue(self, queue: str, payload: bytes) -> Deferred[None]:
        return self.client.send(f"queue/{queue}", payload)

    def consume(self, queue: str, take: Callable[[Taken], None]) -> object:
        def taken(message: Delivery) -> None:
            died_of = death_of(message.properties)
            take(Taken(queue, message.payload, message.is_redelivered, died_of, message.accept))

        return self.client.consume(queue, callback=taken)

    def call(self, argument: str) -> Deferred[str]:
        """What comes of it comes as a message."""
        number = str(next(self._numbers))
        answer: Deferred[str] = Deferred(lambda _: self._asked.pop(number, None))
        self._asked[number] = answer
        asked = {"reply-to": f"queue/{self._answers}", "correlation-id": number}
        self.client.send(f"method/{METHOD}", argument.encode(), properties=asked).addErrback(answer.errback)
        return answer

    def _answered(self, message: Delivery) -> None:
        message.accept()
        answer = self._asked.pop(message.properties["correlation-id"], None)
        if answer is None or answer.called:
            return
        if "error" in message.properties:
            answer.errback(RuntimeError(message.properties["error"]))
        else:
            answer.callback(json.loads(message.payload))
