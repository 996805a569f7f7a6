"""How eMQP's clients and publishers say it; what they hear as subscribers comes by a socket of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import zmq
from twisted.internet.defer import Deferred, gatherResults, succeed
from txzmq import ZmqEndpoint, ZmqEndpointType, ZmqSubConnection

from fmqbus.client.emqp import EMQPClient
from fmqbus.transports.zeromq.context import Context
from tests.live.broker import Broker
from tests.live.emqp_peers import LISTEN, ports_of
from tests.soak.mail import JOBS, MODULE
from tests.soak.words import Calls, Enqueues, Feed, Party, Publishes, Subscribes


class EMQP(Party, Publishes, Subscribes, Enqueues, Calls):
    """A client, and a subscriber. ZeroMQ counts messages and not octets, and drops what is too many."""

    protocol = "emqp"
    listens = LISTEN
    is_gapless = False

    def __init__(self, address: str, name: str, reactor: Any) -> None:
        frontend, pubout = address.split()
        self._client = EMQPClient(frontend, reactor)
        self._reactor = reactor
        self._context = Context(reactor)
        self._subscriber = ZmqSubConnection(self._context, ZmqEndpoint(ZmqEndpointType.connect, pubout))
        self._subscriber.gotMessage = self._heard
        self._wishes: dict[bytes, Callable[[str, bytes], None]] = {}

    @classmethod
    def address(cls, broker: Broker) -> str:
        ports = ports_of(broker)
        return f"emqp://127.0.0.1:{ports['frontend']} tcp://127.0.0.1:{ports['pubout']}"

    @classmethod
    def listens_again(cls, broker: Broker) -> str:
        return "emqp:zmq:" + ":".join(f"{name}={port}" for name, port in ports_of(broker).items())

    def start(self, came: Callable[[], None], lost: Callable[[], None]) -> None:
        """ZeroMQ tells nobody whether it is connected."""
        self._client.startService()
        came()

    def stop(self) -> Deferred[None]:
        return gatherResults([self._client.stopService(), self._context.close()]).addCallback(lambda _: None)

    @property
    def is_connected(self) -> bool:
        return True

    def publish(self, topic: str, payload: bytes) -> Deferred[None]:
        self._client.publish(topic, payload)
        return succeed(None)

    def subscribe(self, pattern: str, heard: Callable[[str, bytes], None]) -> Feed:
        return _Wish(self, pattern.removesuffix("*").encode(), heard)

    def enqueue(self, queue: str, payload: bytes) -> Deferred[Any]:
        """A job of which the broker is told that it must be done."""
        args = json.loads(payload)[1]["args"]
        return self._client.submit(f"{MODULE}:take", args, queue=queue, guarantee=True, retry_count=1_000, reply=False)

    def call(self, argument: str) -> Deferred[str]:
        asked = self._client.call(f"{MODULE}:echo", [argument], queue=JOBS, guarantee=True, deadline=60.0)
        return Deferred.fromCoroutine(asked)

    def _heard(self, payload: bytes, topic: bytes) -> None:
        for prefix, heard in list(self._wishes.items()):
            if topic.startswith(prefix):
                heard(topic.decode(), payload)

    def wish(self, prefix: bytes, heard: Callable[[str, bytes], None] | None) -> None:
        """Hear what begins so, or no more."""
        if heard is None:
            del self._wishes[prefix]
            self._subscriber.socket.set(zmq.UNSUBSCRIBE, prefix)
        else:
            self._wishes[prefix] = heard
            self._subscriber.socket.set(zmq.SUBSCRIBE, prefix)


class _Wish:
    """What topics begin with."""

    def __init__(self, party: EMQP, prefix: bytes, heard: Callable[[str, bytes], None]) -> None:
        self._party = party
        self._prefix = prefix
        party.wish(prefix, heard)

    def stop(self) -> None:
        self._party.wish(self._prefix, None)
