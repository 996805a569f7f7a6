"""The UMQ client for Twisted: call methods and serve them; publish, subscribe and watch; queues in both directions.

A service with one connection that it keeps up. Subscriptions, watches, consumptions, wills, attributes and what is
served are said again on each new one. Deferreds may be awaited in Twisted's coroutines. docs/client.md has whole
programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from fmqbus import names
from fmqbus.client.carriers import MakeCarrier, way_to
from fmqbus.client.demand import Demand
from fmqbus.client.events import DemandChange, Message
from fmqbus.client.feed import MAX_QUEUE
from fmqbus.client.opening import OpeningEndpoint
from fmqbus.client.outgoing import Outgoing
from fmqbus.client.queue_message import QueueMessage
from fmqbus.client.reconnecting import RETRY_POLICY
from fmqbus.client.umq_calling import CallingClient
from fmqbus.client.umq_conversation import Conversation, check_greeted
from fmqbus.client.umq_link import Reply, Request, Standing, Topic, UMQLink
from fmqbus.client.umq_topics import Topics, UMQConsumption, UMQSubscription
from fmqbus.client.umq_words import check_attribute, payload_argument
from fmqbus.errors import CallFailed
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import NO_PROPERTIES, Outcome, Overflow
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.attributes import Attribute

__all__ = ["Reply", "UMQClient"]


class UMQClient(CallingClient):
    """A client of one bus, at a URL (`fmqbus.client.url`), or behind any endpoint that speaks WebSocket.

    `credentials` go with the greeting, as JSON. What was asked and not answered when the connection goes fails with
    `ConnectionLost`: only the caller knows whether to ask again.

    `limits` bound what the other side can cost: `body_octets` of each message and attachment, `outbox_octets` (of what
    waits to be sent, and of each subscription's queue), `calls_per_peer` (calls without an answer; further ones wait),
    `attachments_per_message`, `incomplete_octets_per_peer`, `handshake_seconds`. Raises `InvalidURL`.

    Names are text, with or without outer slashes; every method that takes one raises `InvalidName`.
    """

    def __init__(
        self,
        target: str | IStreamClientEndpoint,
        reactor: Any,
        *,
        credentials: Any = None,
        carrier: MakeCarrier | None = None,
        limits: Limits = DEFAULT_LIMITS,
        retry_policy: Callable[[int], float] = RETRY_POLICY,
    ) -> None:
        self._topics = Topics()
        self._wills: dict[str, tuple[Any, ...]] = {}
        #: What we have set: name → the value and what is attached to it.
        self._set: dict[str, Attribute] = {}
        outgoing: Outgoing[Request] = Outgoing(limits.outbox_octets)
        endpoint, make_carrier = way_to(target, reactor, limits.body_octets)
        hello = b"" if credentials is None else msgspec.json.encode(credentials)
        # the link lets others wait long before
        unbounded = attrs.evolve(limits, calls_in_hand_per_peer=sys.maxsize)
        super().__init__(
            OpeningEndpoint(
                endpoint,
                partial(Conversation, carrier or make_carrier, hello, unbounded),
                check_greeted,
                limits.handshake_seconds,
                reactor,
                outgoing.fail,
            ),
            Factory.forProtocol(partial(UMQLink, self, reactor, limits.calls_per_peer)),
            reactor,
            limits,
            retry_policy,
            outgoing,
        )

    # topics

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> Deferred[None]:
        """Publish a message; with `retain` the bus also keeps it for later subscribers. Returns a Deferred that fires
        once the bus has taken it; else as `call`."""
        return self._give("publish", topic, payload, retain=retain, properties=properties)

    def retain(self, topic: str, payload: bytes, *, properties: Mapping[str, str] = NO_PROPERTIES) -> Deferred[None]:
        """Publish a message that is kept; an empty one has the bus forget what it keeps."""
        return self._give("retain", topic, payload, properties=properties)

    def set_will(
        self, topic: str, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> Deferred[None]:
        """Have the bus publish this when our connection goes, however it goes.

        One per topic; an empty payload removes it. Said again on each new connection, once the bus has taken it: a
        client that reconnects has died once and may die again.
        """
        name = names.to_text(names.from_text(topic))
        options = {"retain": retain, "properties": dict(properties)}

        def remember(_: None) -> None:
            if payload:
                self._wills[name] = (payload, options)
            else:
                self._wills.pop(name, None)

        return self._give("will", name, payload, **options).addCallback(remember)

    def _give(self, method: str, name: str, payload: bytes, **options: Any) -> Deferred[None]:
        names.from_text(name)
        text, attachments = payload_argument(payload)
        return self.request(method, name, text, options, attachments=attachments).addCallback(lambda _: None)

    def subscribe(
        self,
        *patterns: str,
        hidden: bool = False,
        overflow: Overflow | None = None,
        max_queue: int = MAX_QUEUE,
        callback: Callable[[Message], object] | None = None,
    ) -> UMQSubscription:
        """Subscribe, and return what to iterate over; with `callback`, that is called with each message instead.

        A message comes once, however many of the patterns match. Those that the bus keeps come first, at each call.
        Where the reader does not keep up, the oldest of the `max_queue` messages is dropped and counted; where the
        connection does not, the bus does as `overflow` says, or else as it is configured. With `hidden`, publishers
        that watch do not learn of us. If the bus does not allow it, or ends it, iterating raises `Refused`.
        """
        subscription = UMQSubscription(
            [names.from_text(pattern) for pattern in patterns],
            self._forget_feed,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        subscription.hidden, subscription.overflow = hidden, overflow
        self._begin(self._topics.add_subscription(subscription))
        return subscription

    def watch(
        self, pattern: str, *, max_queue: int = MAX_QUEUE, callback: Callable[[DemandChange], object] | None = None
    ) -> Demand:
        """Watch how many listen to a topic, or to all topics that a pattern is equivalent to.

        With `callback`, that is called with each change.
        """
        demand = Demand(
            names.from_text(pattern),
            self._forget_feed,
            self._limits.wildcards_per_peer,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        self._begin([self._topics.add_watch(demand)])
        return demand

    #: As the FMQP client calls it.
    demand = watch

    # queues

    def enqueue(
        self,
        queue: str,
        payload: bytes,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        priority: int = 0,
        time_to_live: float | None = None,
        delay: float = 0.0,
    ) -> Deferred[None]:
        """Put a message into a queue. Returns a Deferred that fires once it is as safe there as the queue makes it;
        else as `call`. The terms are those of `fmqbus.model.Terms`."""
        return self._give(
            "enqueue",
            queue,
            payload,
            properties=properties,
            priority=priority,
            time_to_live=time_to_live,
            delay=delay,
        )

    def consume(
        self,
        queue: str,
        *,
        window: int = 100,
        weight: int = 1,
        callback: Callable[[QueueMessage], object] | None = None,
    ) -> UMQConsumption:
        """Receive messages of a queue, and return what to iterate over; with `callback`, that is called with each
        instead. Each has to be accepted, released or rejected, in any order; `window` of them may be in hand.

        Those that are in hand when the connection goes, or the consumption ends, come again, to whomever. If the bus
        does not allow it, iterating raises `Refused`.
        """
        wish = UMQConsumption(
            names.from_text(queue), {"window": window, "weight": weight}, self._forget_feed, self._settle, callback
        )
        self._topics.add(wish)
        self._begin([wish])
        return wish

    def _settle(self, standing: Standing, number: int, outcome: Outcome, reason: str) -> None:
        """What is no longer in our hands is not settled by anybody."""
        if standing.is_current and standing.link is self._link:
            settled = standing.link.ask("settle", standing.text, [number], outcome.value, reason)
            settled.addErrback(self._not_settled)

    def _not_settled(self, reason: Failure) -> None:
        """If the connection has gone, the message comes again."""
        if reason.check(CallFailed):
            self.invalid += 1

    def _begin(self, topics: Iterable[Topic]) -> None:
        if self._link is not None:
            for topic in topics:
                self._link.begin_topic(topic)

    def _forget_feed(self, feed: Any) -> None:
        for topic in self._topics.remove(feed):
            standing, topic.standing = topic.standing, None
            if standing is not None and standing.link is self._link:
                standing.link.end_topic(standing)

    # attributes

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """What the bus has set on this connection (UMQ, Command S): name to `Attribute`; nothing without one."""
        return {} if self._link is None else self._link.attributes

    def set_attribute(self, name: str, value: str, *, attachments: Sequence[Attachment] = ()) -> None:
        """Tell the bus something of us, now and on each new connection (UMQ, Command S).

        There is no answer: beyond `Limits.attributes_per_peer` and `Limits.attribute_octets_per_peer`, the bus leaves
        it out (reading 41). Raises `LocalError` for a name with ``=``, and for what is too large.
        """
        check_attribute(name, value, attachments, self._limits)
        self._set[name] = Attribute(value, tuple(attachments))
        if self._link is not None:
            self._link.set_attribute(name, value, attachments)

    def unset_attribute(self, name: str) -> None:
        """Take it back (UMQ, Command X). Nothing happens if it was not set."""
        if self._set.pop(name, None) is not None and self._link is not None:
            self._link.unset_attribute(name)

    # what the connection tells; `fmqbus.client.umq_link.UMQLinkOwner`

    def greet(self, link: UMQLink) -> None:
        """Who we are, and then wills: from here on we may die."""
        for name, attribute in self._set.items():
            link.set_attribute(name, *attribute)
        for topic, (payload, options) in self._wills.items():
            text, attachments = payload_argument(payload)
            link.ask("will", topic, text, options, attachments=attachments).addErrback(self._not_settled)
        super().greet(link)
        self._begin(self._topics)

    def connection_gone(self, link: UMQLink) -> None:
        """What had come of queues comes again."""
        super().connection_gone(link)
        self._topics.connection_lost()

    def forget_wishes(self) -> None:
        super().forget_wishes()
        self._topics.stop_all()
        self._wills.clear()
        self._set.clear()
