"""Profile ``queue``: resources are queues of the bus, each content goes to one reader. (reading 17)

What a reader confirms is done. What it rejects goes back to the front of the queue with ``recycle``, and without it is
a dead letter. Where readers do not confirm, a content is done when it has been sent. All that a flow has summoned share
one window. After a Dismiss what was sent may still be settled (reading 43), so the consumer waits for that, taking
nothing new. Writers may ask for ``priority``, ``ttl`` and ``delay`` by a content's properties.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import InvalidName, Refused
from fmqbus.interfaces import IMTLClient, IMTLFlow, IMTLProfile, IMTLReader, IMTLWriter
from fmqbus.model import Action, Consumer, Credit, Message, Outcome, Publication, StoredMessage, Subscription
from fmqbus.protocols.mtl.properties import delivery_table, terms_of, to_keep

#: Names that a writer of any and all uses; with more of them it begins anew.
_MOST_NAMES = 1_000

_Handed = tuple[Consumer, int]


@implementer(IMTLReader)
class QueueReader:
    """One flow that reads."""

    def __init__(self, flow: IMTLFlow) -> None:
        self._flow = flow
        self._credit = Credit(flow.window) if flow.is_confirmed else None
        #: Those that are summoned, and those that were and have contents unsettled.
        self._consumers: dict[bytes, Consumer] = {}
        self._dismissed: set[Consumer] = set()
        #: Name → resource. Two that are one queue could not be told apart.
        self._resources: dict[bytes, bytes] = {}
        #: Messages that have been handed over, and found no room.
        self._waiting: deque[tuple[Consumer, StoredMessage]] = deque()
        #: Those that were sent, and are done.
        self._done: list[_Handed] = []
        self._is_paused = False

    def summon(self, resource: bytes) -> None:
        name = self._flow.name_of(resource)
        if self._resources.get(name, resource) != resource:
            raise InvalidName("summoned already, in another spelling", "resource-twice")
        consumer = self._consumers.get(resource)
        if consumer is None:
            consumer = self._flow.bus.consume(name, self._flow.window, tag=resource, credit=self._credit)
            self._consumers[resource] = consumer
            self._resources[name] = resource
        else:
            self._dismissed.discard(consumer)
            self._flow.bus.set_window(consumer, self._flow.window)

    def dismiss(self, resource: bytes) -> None:
        consumer = self._consumers.get(resource)
        if consumer is None:
            return
        self._flow.bus.set_window(consumer, 0)
        self._dismissed.add(consumer)
        self._free(self._give_back(consumer))
        self._cancel_if_done(consumer)

    def _give_back(self, consumer: Consumer) -> int:
        """What waits for room goes to others; returns how much that is."""
        unsent = [stored.number for owner, stored in self._waiting if owner is consumer]
        self._waiting = deque(item for item in self._waiting if item[0] is not consumer)
        given_back: int = self._flow.bus.give_back(consumer, unsent)
        return given_back

    def _cancel_if_done(self, consumer: Consumer) -> None:
        if consumer in self._dismissed and not consumer.unsettled:
            self._flow.bus.cancel(consumer)
            self._forget(consumer)

    def _forget(self, consumer: Consumer) -> None:
        self._dismissed.discard(consumer)
        self._consumers.pop(consumer.tag, None)
        self._resources.pop(consumer.queue, None)

    def settled(self, tags: Sequence[_Handed], outcome: Outcome) -> None:
        """In the order in which they were sent, so that what goes back does so in its order."""
        for consumer, group in groupby(tags, itemgetter(0)):
            self._flow.bus.settle(consumer, [number for _, number in group], outcome)
            self._cancel_if_done(consumer)
        self._free(len(tags))
        self.go_on()

    def _free(self, messages: int) -> None:
        if self._credit is not None:
            self._flow.bus.set_credit(self._credit, self._credit.left + messages)

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        self._waiting.extend(deliveries)
        self._send()
        if self._waiting:
            self._is_paused = True
            self._flow.bus.pause_delivery()

    def go_on(self) -> None:
        self._send()
        if self._is_paused and not self._waiting and self._flow.room:
            self._is_paused = False
            self._flow.bus.resume_delivery()

    def _send(self) -> None:
        flow, waiting = self._flow, self._waiting
        had_done = bool(self._done)
        while waiting and flow.room:
            consumer, stored = waiting[0]
            handed = consumer, stored.number
            if not flow.send(consumer.tag, delivery_table(stored), stored.message.payload, handed):
                break
            waiting.popleft()
            if not flow.is_confirmed:
                self._done.append(handed)
        if self._done and not had_done:
            flow.soon(self._settle_done)

    def _settle_done(self) -> None:
        done, self._done = self._done, []
        self.settled(done, Outcome.ACCEPT)

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        """Nothing was subscribed to."""

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        """Nothing was subscribed to."""

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """What was sent can no longer be settled, but still counts until it is."""
        unsent = sum(owner is consumer for owner, _ in self._waiting)
        self._waiting = deque(item for item in self._waiting if item[0] is not consumer)
        was_summoned = consumer not in self._dismissed
        self._forget(consumer)
        if unsent:
            self._flow.soon(lambda: self._free(unsent))
        if was_summoned:
            self._flow.dismissed(consumer.tag)

    def ended(self) -> None:
        for consumer in {owner for owner, _ in self._waiting}:
            self._give_back(consumer)


@implementer(IMTLWriter)
class QueueWriter:
    """One flow that writes."""

    def __init__(self, flow: IMTLFlow) -> None:
        self._flow = flow
        self._names: dict[bytes, bytes] = {}

    def write(self, resource: bytes, table: bytes, body: bytes) -> Deferred[None] | None:
        name = self._names.get(resource)
        if name is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            name = self._names[resource] = self._flow.name_of(resource)
        waiting: Deferred[None] | None = self._flow.bus.enqueue(
            name, Message(name, body, properties=to_keep(table)), terms_of(table)
        )
        return waiting

    def turn_over(self) -> None:
        """Each has gone at once."""


@implementer(IPlugin, IMTLProfile)
class Queue:
    """The profile."""

    name = "queue"
    summary = "resources are queues: each content goes to one reader"
    resources: Sequence[bytes] = ()
    confirms_readers = True
    confirms_writers = True

    def demand(self, client: IMTLClient, is_reader: bool, resource: bytes) -> None:
        name = client.name_of(resource)
        if names.is_wild(name) or names.is_service(name):
            raise InvalidName("it has a wildcard or is below $, and so names no queue", "name-reserved")
        action = Action.CONSUME if is_reader else Action.ENQUEUE
        if not client.router.authorize(client.principal, action, name):
            raise Refused(f"{action.value} is not allowed")

    def reader(self, flow: IMTLFlow) -> QueueReader:
        return QueueReader(flow)

    def writer(self, flow: IMTLFlow) -> QueueWriter:
        return QueueWriter(flow)


QUEUE = Queue()
