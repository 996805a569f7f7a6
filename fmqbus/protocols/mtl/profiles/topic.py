"""Profile ``topic``: resources are topics of the bus. (MTL, Selecting a Profile; reading 17)

A content is a publication: it goes to all who have summoned its topic. With ``retain`` among its properties it is kept,
and comes first to whoever summons later. A resource to read may have wildcards; its contents then have the name of
their own topic. What comes while a reader has no room waits in the bus, bounded, as for any slow subscriber.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import InvalidName, Refused
from fmqbus.interfaces import IMTLClient, IMTLFlow, IMTLProfile, IMTLReader, IMTLWriter
from fmqbus.model import Action, Consumer, Message, Outcome, Publication, StoredMessage, Subscription
from fmqbus.protocols.mtl.data_codec import write_rest
from fmqbus.protocols.mtl.properties import is_retained, to_bus
from fmqbus.protocols.mtl.wire import WIRE

#: Names that a writer of any and all uses; with more of them it begins anew.
_MOST_NAMES = 1_000


@implementer(IMTLReader)
class TopicReader:
    """One flow that reads."""

    def __init__(self, flow: Any) -> None:
        self._flow = flow
        self._subscriptions: dict[bytes, Subscription] = {}
        #: Name → resource. Two that are one topic could not be told apart.
        self._resources: dict[bytes, bytes] = {}
        #: Contents that have been handed over, and found no room.
        self._waiting: deque[tuple[Subscription, bytes, bytes]] = deque()

    def summon(self, resource: bytes) -> None:
        name = self._flow.name_of(resource)
        if name in self._resources:
            raise InvalidName("summoned already, in another spelling", "resource-twice")
        self._subscriptions[resource] = self._flow.bus.subscribe(name, tag=resource)
        self._resources[name] = resource

    def dismiss(self, resource: bytes) -> None:
        subscription = self._forget(resource)
        if subscription is not None:
            self._flow.bus.unsubscribe(subscription.pattern)

    def _forget(self, resource: bytes) -> Subscription | None:
        subscription = self._subscriptions.pop(resource, None)
        if subscription is not None:
            del self._resources[subscription.pattern]
            self._waiting = deque(item for item in self._waiting if item[0] is not subscription)
        return subscription

    def settled(self, tags: Sequence[Any], outcome: Outcome) -> None:
        """Whatever it says of a publication, there is no other reader to have it."""
        self.go_on()

    def go_on(self) -> None:
        flow, waiting = self._flow, self._waiting
        while waiting and flow.room:
            _, rest, body = waiting.popleft()
            flow.send_written(rest, body)
        if flow.room:
            flow.bus.resume_delivery()

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        flow, waiting = self._flow, self._waiting
        send, room = flow.send_written, flow.room
        for publication, matched in batch:
            for subscription, resource in self._wanted(matched):
                for written in publication.encoded(WIRE):
                    rest = written.rest if resource == written.topic else self._rest(resource, written)
                    if room > 0 and not waiting:
                        send(rest, written.body)
                        room = flow.room
                    else:
                        waiting.append((subscription, rest, written.body))
        if room <= 0:
            flow.bus.pause_delivery()

    def _wanted(self, matched: Sequence[Subscription]) -> Sequence[tuple[Subscription, bytes]]:
        """By which resources a publication comes, and its name if it is theirs: one without wildcards each by itself,
        else all those with wildcards together once."""
        current = [each for each in matched if self._subscriptions.get(each.tag) is each]
        exact = [(each, each.tag) for each in current if not names.is_wild(each.pattern)]
        return exact or [(each, b"") for each in current[:1]]

    def _rest(self, resource: bytes, written: Any) -> bytes:
        return write_rest(resource or self._flow.resource_of(written.topic), written.table)

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """Nothing was consumed."""

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        self._forget(subscription.tag)
        self._flow.dismissed(subscription.tag)

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """Nothing was consumed."""


@implementer(IMTLWriter)
class TopicWriter:
    """One flow that writes."""

    def __init__(self, flow: IMTLFlow) -> None:
        self._flow = flow
        self._names: dict[bytes, bytes] = {}

    def write(self, resource: bytes, table: bytes, body: bytes) -> None:
        name = self._names.get(resource)
        if name is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            name = self._names[resource] = self._flow.name_of(resource)
        self._flow.bus.publish(Message(name, body, is_retained(table), properties=to_bus(table)))


@implementer(IPlugin, IMTLProfile)
class Topic:
    """The profile."""

    name = "topic"
    summary = "resources are topics: contents go to all who read them"
    resources: Sequence[bytes] = ()
    confirms_readers = True
    confirms_writers = True

    def demand(self, client: IMTLClient, is_reader: bool, resource: bytes) -> None:
        action = Action.SUBSCRIBE if is_reader else Action.PUBLISH
        if not client.router.authorize(client.principal, action, client.name_of(resource)):
            raise Refused(f"{action.value} is not allowed")

    def reader(self, flow: IMTLFlow) -> TopicReader:
        return TopicReader(flow)

    def writer(self, flow: IMTLFlow) -> TopicWriter:
        return TopicWriter(flow)


TOPIC = Topic()
