"""How does somebody else notice that an action was done? Once for all protocols, by a witness who may do everything.

Each action has two sides: `begin` says it, and `shows` tells whether it has, or still has, its effect. Of an action
that is over when it is said, `shows` says it again.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import count
from typing import ClassVar

from fmqbus.model import Action
from tests.crossing.speakers import wait_for
from tests.crossing.umq import UMQ
from tests.live.emqp_peers import body_of
from tests.live.umq_client import Refused
from tests.rights.actors import PAYLOAD, Actor, UMQActor

MANAGED, REPLIES = b"$/manage/queues", b"$/manage/reply/"
#: Where everybody may do everything.
OPEN = b"open/"

_numbers = count()


class Witness:
    """A client of UMQ, which has a word for nearly everything."""

    def __init__(self, speaker: UMQ) -> None:
        self.umq = speaker
        self.actor = UMQActor(speaker)

    def received(self) -> list[bytes]:
        """The payloads that have come."""
        return [message.payload for message in self.umq.heard()]


class Effect(ABC):
    """Of one action, at one name."""

    #: A name of its own, below this.
    below: ClassVar[bytes] = b""

    def __init__(self, actor: Actor, witness: Witness, name: bytes) -> None:
        self.actor = actor
        self.witness = witness
        self.name = name

    def begin(self) -> None:  # noqa: B027  (for what is over when it is said, there is nothing to begin)
        """Say it."""

    @abstractmethod
    def shows(self) -> bool:
        """Whether it has its effect now."""


class Published(Effect):
    """A subscriber hears it."""

    def shows(self) -> bool:
        self.witness.umq.subscribe(self.name)
        self.actor.publish(self.name)
        return PAYLOAD in self.witness.received()


class Retained(Effect):
    """Who subscribes later hears it, who was there before too; it is taken away again."""

    def shows(self) -> bool:
        self.actor.retain(self.name)
        self.witness.umq.subscribe(self.name)
        heard = self.witness.received()
        self.witness.umq.publish(self.name, b"", retain=True)
        return PAYLOAD in heard


class LeftBehind(Effect):
    """A will. One at an open name is left behind it, and so is published after it."""

    def begin(self) -> None:
        self.actor.will(self.name)

    def shows(self) -> bool:
        last = OPEN + b"will/%d" % next(_numbers)
        self.actor.will(last)
        self.witness.umq.subscribe(self.name)
        self.witness.umq.subscribe(last)
        self.actor.close()
        heard: set[bytes] = set()
        while last not in heard:
            heard |= {message.topic for message in wait_for(self.witness.umq.heard)}
        return self.name in heard


class Subscribed(Effect):
    """It hears what is published."""

    def begin(self) -> None:
        self.actor.subscribe(self.name)

    def shows(self) -> bool:
        self.witness.umq.publish(self.name, PAYLOAD)
        return PAYLOAD in self.actor.received()


class Watched(Effect):
    """It is told of a subscriber."""

    def begin(self) -> None:
        self.actor.watch(self.name)

    def shows(self) -> bool:
        self.witness.umq.subscribe(self.name)
        is_told = self.actor.demand()
        self.witness.umq.unsubscribe(self.name)
        return is_told


class Controlled(Effect):
    """The bus answers."""

    below = MANAGED

    def shows(self) -> bool:
        token = f"t{next(_numbers)}"
        self.witness.umq.subscribe(REPLIES + token.encode())
        self.actor.control(MANAGED, json.dumps({"do": "list", "reply": token}).encode())
        return bool(self.witness.received())


class Enqueued(Effect):
    """A consumer gets it. He is there before: a queue that is not known is another one in eMQP."""

    def begin(self) -> None:
        self.witness.umq.consume(self.name)

    def shows(self) -> bool:
        self.actor.enqueue(self.name)
        return bool(self.witness.received())


class Consumed(Effect):
    """It gets what is put there, which has to be a job in eMQP."""

    def begin(self) -> None:
        self.actor.consume(self.name)

    def shows(self) -> bool:
        self.witness.umq.enqueue(self.name, body_of("do"))
        return bool(self.actor.received())


class Called_(Effect):
    """A server is asked."""

    def begin(self) -> None:
        self.witness.actor.serve(self.name)

    def shows(self) -> bool:
        self.actor.call(self.name)
        return bool(self.witness.actor.calls())


class Served(Effect):
    """It is asked. Where nobody serves, the witness is told so."""

    below = b"job/"

    def begin(self) -> None:
        self.actor.serve(self.name)

    def shows(self) -> bool:
        self.witness.actor.client.begin([self.name.decode(), "jobs:do"], tag="served")
        self.witness.actor.client.call("list")
        # a job is put into its queue when the bus is through with handing out the call
        self.witness.actor.client.call("list")
        return bool(self.actor.calls())


class Scheduled(Effect):
    """A consumer gets it again and again; by then he has got twice what the witness itself has scheduled."""

    def begin(self) -> None:
        self.actor.schedule(self.name)

    def shows(self) -> bool:
        self.witness.umq.consume(self.name)
        other = OPEN + b"schedule/%d" % next(_numbers)
        self.witness.actor.schedule(other)
        self.witness.received()
        self.witness.umq.consume(other)
        heard: list[bytes] = []
        while heard.count(other) < 2:
            heard += [message.topic for message in wait_for(self.witness.umq.heard)]
        for key in (self.name, other):
            try:
                self.witness.actor.client.call("unschedule", key.decode())
            except Refused:
                raise AssertionError("the witness may do everything") from None
        return self.name in heard


class Managed(Effect):
    """It is told how things stand."""

    def shows(self) -> bool:
        return self.actor.manage()


EFFECTS: Mapping[Action, type[Effect]] = {
    Action.PUBLISH: Published,
    Action.RETAIN: Retained,
    Action.WILL: LeftBehind,
    Action.SUBSCRIBE: Subscribed,
    Action.WATCH: Watched,
    Action.CONTROL: Controlled,
    Action.ENQUEUE: Enqueued,
    Action.CONSUME: Consumed,
    Action.CALL: Called_,
    Action.SERVE: Served,
    Action.SCHEDULE: Scheduled,
    Action.MANAGE: Managed,
}
