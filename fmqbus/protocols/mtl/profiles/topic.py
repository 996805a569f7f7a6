"""Profile ``topic``: resources are topics of the bus. (MTL, Selecting a Profile; reading 17)

A content is a publication: it goes to all who have summoned its topic. With ``retain`` among its properties it is kept,
and comes first to whoever summons later. A resource to read may have wildcards; its contents then have the name of
their own topic. What comes while a reader has no room waits in the bus, bounded, as for any slow subscriber.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Any

import attrs
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import InvalidName, Refused
from fmqbus.interfaces import IMTLClient, IMTLFlow, IMTLProfile, IMTLReader, IMTLWriter
from fmqbus.model import (
    SINGLY,
    Action,
    Consumer,
    Message,
    Outcome,
    Publication,
    Route,
    StoredMessage,
    Subscription,
    Targets,
)
from fmqbus.protocols.mtl.data_codec import write_rest, write_table_with_length
from fmqbus.protocols.mtl.properties import is_retained, to_bus
from fmqbus.protocols.mtl.wire import WIRE, Contents, Written

#: Names that a writer of any and all uses; with more of them it begins anew.
_MOST_NAMES = 1_000


@attrs.define(eq=False)
class _Summoned:
    """What a flow has summoned, and not dismissed since."""

    resource: bytes
    is_wild: bool
    is_current: bool = True


@implementer(IMTLReader)
class TopicReader:
    """One flow that reads."""

    def __init__(self, flow: IMTLFlow) -> None:
        self._flow = flow
        self._subscriptions: dict[bytes, Subscription] = {}
        #: Name → resource. Two that are one topic could not be told apart.
        self._resources: dict[bytes, bytes] = {}
        #: Contents that have been handed over, and found no room.
        self._waiting: deque[tuple[_Summoned, tuple[bytes, bytes]]] = deque()
        self._is_paused = False

    def summon(self, resource: bytes) -> None:
        name = self._flow.name_of(resource)
        if name in self._resources:
            raise InvalidName("summoned already, in another spelling", "resource-twice")
        summoned = _Summoned(resource, names.is_wild(name))
        self._subscriptions[resource] = self._flow.bus.subscribe(name, tag=summoned)
        self._resources[name] = resource

    def dismiss(self, resource: bytes) -> None:
        subscription = self._forget(resource)
        if subscription is not None:
            self._flow.bus.unsubscribe(subscription.pattern)

    def _forget(self, resource: bytes) -> Subscription | None:
        subscription = self._subscriptions.pop(resource, None)
        if subscription is not None:
            subscription.tag.is_current = False
            del self._resources[subscription.pattern]
            self._waiting = deque(item for item in self._waiting if item[0].is_current)
        return subscription

    def settled(self, tags: Sequence[Any], outcome: Outcome) -> None:
        """Whatever it says of a publication, there is no other reader to have it."""
        self.go_on()

    def go_on(self) -> None:
        flow, waiting = self._flow, self._waiting
        if waiting:
            sent = flow.send_written([content for _, content in islice(waiting, flow.room)])
            for _ in range(sent):
                waiting.popleft()
        if self._is_paused and flow.room and not waiting:
            self._is_paused = False
            flow.bus.resume_delivery()

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        flow, waiting = self._flow, self._waiting
        for publication, matched in batch:
            for summoned in _wanted(matched):
                contents = self._contents(summoned, publication.encoded(WIRE).written)
                sent = 0 if waiting else flow.send_written(contents)
                if sent < len(contents):
                    waiting.extend((summoned, content) for content in contents[sent:])
        if waiting or not flow.room:
            self._is_paused = True
            flow.bus.pause_delivery()

    def _contents(self, summoned: _Summoned, written: Sequence[Written]) -> Sequence[tuple[bytes, bytes]]:
        """As this client is to see them: by the name of its resource, or of their topics if that has wildcards."""
        resource = summoned.resource
        contents = []
        for rest, body, topic, table in written:
            called = self._flow.resource_of(topic) if summoned.is_wild else resource
            contents.append((rest if called == topic else write_rest(called, table), body))
        return contents

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """Nothing was consumed."""

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        resource = subscription.tag.resource
        self._forget(resource)
        self._flow.dismissed(resource)

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """Nothing was consumed."""

    def ended(self) -> None:
        """Publications do not go to others instead."""


def _wanted(matched: Sequence[Subscription]) -> Sequence[_Summoned]:
    """By which resources a publication comes: by each without wildcards that fits, else once by one that has some."""
    current = [each.tag for each in matched if each.tag.is_current]
    if len(current) < 2:
        return current
    return [each for each in current if not each.is_wild] or current[:1]


@attrs.frozen
class _Known:
    """What is known of a resource that is written to."""

    name: bytes
    #: How the rest of a header begins for those who call it what the bus calls it, and the whole of it without a table.
    head: bytes
    rest: bytes


_NO_TABLE = write_table_with_length(b"")


@implementer(IMTLWriter)
class TopicWriter:
    """One flow that writes. Contents that come one after the other and go to the same readers go as one publication."""

    def __init__(self, flow: IMTLFlow) -> None:
        self._flow = flow
        self._known: dict[bytes, _Known] = {}
        #: What has gathered in this turn, and where it goes.
        self._run: list[Written] = []
        self._octets = 0
        self._targets: Targets | None = None
        self._route: Route | None = None

    def write(self, resource: bytes, table: bytes, body: bytes) -> None:
        self.gather(resource, table, body, is_retained(table))

    def gather(self, resource: bytes, table: bytes, body: bytes, is_kept: bool) -> None:
        """Publish a content, which is also kept or not."""
        known = self._known.get(resource) or self._know(resource)
        name = known.name
        bus = self._flow.bus
        route = bus.routes[name]
        targets = route.targets or route.rematch()
        if targets is SINGLY or is_kept:
            self.turn_over()
            bus.publish(Message(name, body, is_kept, properties=to_bus(table)))
            return
        if targets is not self._targets:
            self.turn_over()
            self._targets, self._route = targets, route
        elif route is not self._route:
            self._route = None
        written = write_table_with_length(table) if table else _NO_TABLE
        rest = known.head + written if table else known.rest
        octets = len(rest) + len(body)
        self._run.append(Written(rest, body, name, written))
        self._octets += octets
        route.messages += 1
        route.octets += octets

    def turn_over(self) -> None:
        run, targets = self._run, self._targets
        if targets is not None and run:
            self._flow.bus.dispatch(Publication(WIRE, Contents(run, self._octets), len(run), targets, self._route))
            self._run = []
            self._octets = 0
        self._targets = self._route = None

    def _know(self, resource: bytes) -> _Known:
        name = self._flow.name_of(resource)
        if len(self._known) >= _MOST_NAMES:
            self._known.clear()
        head = write_rest(name, b"")
        known = self._known[resource] = _Known(name, head, head + _NO_TABLE)
        return known


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
