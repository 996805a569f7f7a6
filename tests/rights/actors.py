"""Each action in each protocol: one small class for each, over real sockets.

A method has the name of its action, and takes the name at which it is done. What the bus refuses is no error here: all
that counts is what comes of it. When a method returns, the bus has acted on it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection

from fmqbus.model import Action
from fmqbus.protocols.umq.events import Called
from tests.crossing.emqp import EMQP
from tests.crossing.fmqp import FMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.mtl import MTL
from tests.crossing.speakers import Speaker
from tests.crossing.umq import UMQ
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.live.emqp_peers import Worker, body_of
from tests.live.mtl_client import SUMMON
from tests.live.umq_client import Refused

PAYLOAD = b"done"
#: Of what is to be done again and again, in seconds.
INTERVAL = 1


class Actor:
    """One client; with a protocol's `Speaker` beside it, which says some of the actions by the same names."""

    #: What its protocol has a word for.
    actions: frozenset[Action]
    #: Where one has to be allowed to `manage`.
    managed = b""
    speaker: Speaker

    def retain(self, name: bytes) -> None:
        """Publish as a retained value."""
        self.speaker.publish(name, PAYLOAD, retain=True)

    def publish(self, name: bytes) -> None:
        """Publish."""
        self.speaker.publish(name, PAYLOAD)

    def control(self, topic: bytes, request: bytes) -> None:
        """Say something to the bus itself."""
        self.speaker.publish(topic, request)

    def subscribe(self, name: bytes) -> None:
        """Subscribe."""
        self.speaker.subscribe(name)

    def will(self, name: bytes) -> None:
        """Leave a last will."""
        self.speaker.leave_will(name, PAYLOAD)

    def watch(self, name: bytes) -> None:
        """Be told who listens."""
        raise NotImplementedError

    def enqueue(self, name: bytes) -> None:
        """Put a message into a queue."""
        raise NotImplementedError

    def consume(self, name: bytes) -> None:
        """Take messages out of it."""
        raise NotImplementedError

    def call(self, name: bytes) -> None:
        """Call a method."""
        raise NotImplementedError

    def serve(self, name: bytes) -> None:
        """Answer its calls."""
        raise NotImplementedError

    def schedule(self, name: bytes) -> None:
        """Have a message put into a queue again and again."""
        raise NotImplementedError

    def manage(self) -> bool:
        """Ask how things stand; whether it is told."""
        raise NotImplementedError

    def received(self) -> Sequence[bytes]:
        """The payloads that have come since the last call, of topics and queues."""
        return [message.payload for message in self.speaker.heard()]

    def demand(self) -> bool:
        """Whether it was told since the last call that somebody listens."""
        raise NotImplementedError

    def calls(self) -> int:
        """How many calls have come since the last call of this."""
        raise NotImplementedError

    def close(self) -> None:
        """Go."""
        self.speaker.close()


_TOPICS = frozenset({Action.PUBLISH, Action.RETAIN, Action.SUBSCRIBE, Action.CONTROL})
_QUEUES = frozenset({Action.ENQUEUE, Action.CONSUME})


class FMQPActor(Actor):
    """FMQP has topics only."""

    actions = _TOPICS | {Action.WILL, Action.WATCH}

    def __init__(self, speaker: FMQP) -> None:
        self.speaker = self._fmqp = speaker

    def watch(self, name: bytes) -> None:
        self._fmqp.watch(name)

    def demand(self) -> bool:
        return any(subscribers for _, subscribers in self._fmqp.demand())


class MicroMsg2Actor(Actor):
    """MicroMsg2 calls, but does not serve."""

    actions = _TOPICS | _QUEUES | {Action.WILL, Action.CALL}

    def __init__(self, speaker: MicroMsg2) -> None:
        self.speaker = self._micromsg2 = speaker

    def enqueue(self, name: bytes) -> None:
        self._micromsg2.enqueue(name, PAYLOAD)

    def consume(self, name: bytes) -> None:
        self._micromsg2.consume(name)

    def call(self, name: bytes) -> None:
        self._micromsg2.send(b"method/" + name, PAYLOAD)


class UMQActor(Actor):
    """UMQ has them all, but for eMQP's own."""

    actions = frozenset(Action) - {Action.MANAGE}

    def __init__(self, speaker: UMQ) -> None:
        self.speaker = self._umq = speaker
        self.client = speaker.client

    def subscribe(self, name: bytes) -> None:
        with suppress(Refused):
            self._umq.subscribe(name)

    def watch(self, name: bytes) -> None:
        with suppress(Refused):
            self._umq.watch(name)

    def demand(self) -> bool:
        return any(subscribers for _, subscribers in self._umq.demand())

    def enqueue(self, name: bytes) -> None:
        self._umq.enqueue(name, PAYLOAD)

    def consume(self, name: bytes) -> None:
        with suppress(Refused):
            self._umq.consume(name)

    def call(self, name: bytes) -> None:
        self.client.begin([name.decode(), PAYLOAD.decode()], tag=name)
        self.client.call("list")

    def serve(self, name: bytes) -> None:
        with suppress(Refused):
            self._umq.serve(name.decode())

    def calls(self) -> int:
        self.client.call("list")
        came = [event for event in self.client.events if isinstance(event, Called)]
        for event in came:
            self.client.events.remove(event)
            self.client.answer(event, None)
        return len(came)

    def schedule(self, name: bytes) -> None:
        with suppress(Refused):
            self.client.call("schedule", name.decode(), name.decode(), PAYLOAD.decode(), {"every": INTERVAL})


class EMQPActor(Actor):
    """eMQP: to consume is to work, and what workers serve is a method too."""

    actions = _TOPICS | _QUEUES | {Action.SERVE, Action.SCHEDULE, Action.MANAGE}
    managed = b"$/signals/disconnect"

    def __init__(self, speaker: EMQP) -> None:
        self.speaker = self._emqp = speaker
        self._client = speaker.client()
        self._workers: list[Worker] = []

    def enqueue(self, name: bytes) -> None:
        self._client.request(name.decode(), body_of("do"))
        self._client.heard()

    def consume(self, name: bytes) -> None:
        worker = self._emqp.bare_worker()
        worker.say("INFORM", json.dumps([(10, name.decode())]), "worker")
        worker.ready(5)
        worker.heard()
        self._workers.append(worker)

    def serve(self, name: bytes) -> None:
        """Of a queue ``q`` the method is ``job/q``."""
        self.consume(name.removeprefix(b"job/"))

    def received(self) -> Sequence[bytes]:
        jobs = [said[4] for worker in self._workers for said in worker.heard() if said[0] == b"REQUEST"]
        return [*super().received(), *jobs]

    def calls(self) -> int:
        return sum(said[0] == b"REQUEST" for worker in self._workers for said in worker.heard())

    def schedule(self, name: bytes) -> None:
        # a job's key is made of its body
        self._client.say("SCHEDULE", name.decode(), "", str(INTERVAL), body_of("tick", name.decode()), "")
        self._client.heard()

    def manage(self) -> bool:
        asked = self._client.say("STATUS")
        # what is asked for after it is answered whether that was or not
        self._client.submit("sync", body_of("nothing"), "reply-requested")
        return any(said[3:] == [asked] for said in self._client.passed())


class MTLActor(Actor):
    """MTL: the profiles topic and queue."""

    actions = _TOPICS | _QUEUES

    def __init__(self, speaker: MTL) -> None:
        self.speaker = self._mtl = speaker

    def subscribe(self, name: bytes) -> None:
        self._mtl.asked("topic", SUMMON, name)

    def enqueue(self, name: bytes) -> None:
        self._mtl.enqueue(name, PAYLOAD)

    def consume(self, name: bytes) -> None:
        self._mtl.asked("queue", SUMMON, name)


class Pages:
    """Who reads what the bus shows over HTTP."""

    protocol = "http"
    listens = ""

    def __init__(self, port: int) -> None:
        self._port = port

    @classmethod
    def join(cls, broker: Broker) -> Pages:
        return cls(broker.port_of("http:"))

    def status_of(self, path: str) -> int:
        """Of the answer for this page."""
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE_SECONDS)) as connection:
            connection.request("GET", path)
            return connection.getresponse().status

    def close(self) -> None:
        """Nothing is open."""


class HTTPActor(Actor):
    """Numbers and health are read over HTTP, and nothing else is done."""

    actions = frozenset({Action.MANAGE})
    managed = b"$/http/metrics"

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def manage(self) -> bool:
        return self._pages.status_of("/metrics") == 200


#: By protocol.
ACTORS = {
    "http": (Pages, HTTPActor),
    "fmqp": (FMQP, FMQPActor),
    "micromsg2": (MicroMsg2, MicroMsg2Actor),
    "umq": (UMQ, UMQActor),
    "emqp": (EMQP, EMQPActor),
    "mtl": (MTL, MTLActor),
}
