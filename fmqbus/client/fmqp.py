"""The FMQP client for Twisted: publish, subscribe, and learn whether anybody listens.

A service with one connection that it keeps up. What the application has asked for (subscriptions, wills, watches) is
said again on each new connection. Deferreds may be awaited in Twisted's coroutines. docs/client.md has whole programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory

from fmqbus import names
from fmqbus.client.demand import Demand, Demands
from fmqbus.client.events import DemandChange, Message
from fmqbus.client.feed import MAX_QUEUE
from fmqbus.client.fmqp_link import FMQPLink
from fmqbus.client.link import Link
from fmqbus.client.on_demand import Producer, run_on_demand
from fmqbus.client.outgoing import Outgoing
from fmqbus.client.reconnecting import RETRY_POLICY
from fmqbus.client.subscribing import SubscribingClient
from fmqbus.client.subscription import Subscription, Subscriptions
from fmqbus.client.url import endpoint_of
from fmqbus.errors import InvalidName
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import Message as BusMessage
from fmqbus.model import Publication
from fmqbus.protocols.fmqp.codec import (
    CACHE,
    DEBUG,
    FEEDBACK,
    LAST_WILL,
    SUBSCRIPTION,
    UNSUBSCRIBE,
    Oversize,
    Packet,
    encode,
)
from fmqbus.waiting import first_of


class FMQPSubscription(Subscription):
    """A subscription of an FMQP client."""

    #: Hidden from the feedback that publishers get (FMQP, section Debugging messages).
    debug = False


class FMQPClient(SubscribingClient):
    """A client of one bus, at a URL (`fmqbus.client.url`) or behind any endpoint.

    `limits` bound what the other side can cost: `body_octets` (larger messages are skipped and counted),
    `outbox_octets` (of what waits to be sent, and of each subscription's queue), `cached_routes`. Raises `InvalidURL`.

    Topics and patterns are text, with or without outer slashes; every method that takes one raises `InvalidName`.
    """

    def __init__(
        self,
        target: str | IStreamClientEndpoint,
        reactor: Any,
        *,
        limits: Limits = DEFAULT_LIMITS,
        retry_policy: Callable[[int], float] = RETRY_POLICY,
    ) -> None:
        #: Packets whose body was above the limit, skipped.
        self.oversize = 0
        self._demands = Demands()
        self._wills: dict[bytes, bytes] = {}
        super().__init__(
            endpoint_of(target, "fmqp", reactor),
            Factory.forProtocol(partial(FMQPLink, self, reactor, limits.body_octets)),
            reactor,
            limits,
            retry_policy,
            Outgoing(limits.outbox_octets),
            subscriptions=Subscriptions(limits.cached_routes, _subscription),
        )

    def forget_wishes(self) -> None:
        super().forget_wishes()
        self._demands.stop_all()
        self._wills.clear()

    # publishing

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> Deferred[None]:
        """Publish a message; with `retain` the broker also keeps it for later subscribers.

        Returns a Deferred that fires once the transport has taken the message: await it, and you go no faster than the
        connection. That is no acknowledgement, of which the protocol has none; see `sync`. Messages wait while there is
        no connection or no room: raises `Overloaded` when more than `Limits.outbox_octets` wait. After the client has
        stopped, raises `Detached`.

        An empty payload reaches nobody; with `retain` it has the broker forget the message it keeps.
        """
        return self._outgoing.send(self._publication(CACHE if retain else 0, topic, payload))

    def set_will(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Have the broker publish this when our connection goes, however it goes.

        One per topic; an empty payload removes it. Said again on each new connection: a client that reconnects has died
        once and may die again.
        """
        packet = self._publication(LAST_WILL | (CACHE if retain else 0), topic, payload)
        name = names.from_text(topic)
        if payload:
            self._wills[name] = packet
        else:
            self._wills.pop(name, None)
        self._say(packet)

    async def sync(self) -> None:
        """Wait until the broker has taken in all that we published so far.

        The broker is asked for an echo on the way that everything else has gone. Raises `ConnectionLost` if the
        connection goes meanwhile: what was on it may be lost. Never ends if the broker does not let us publish and
        subscribe below ``fmqbus-sync``: use a timeout.
        """
        await self.when_connected()
        echo: Deferred[None] = Deferred()
        # a level for each digit: so deep that no other's wildcard subscription fits, and gets the echo too
        topic = f"fmqbus-sync/{'/'.join(uuid4().hex)}"
        with self.subscribe(topic, debug=True, callback=lambda _: echo.callback(None)):
            lost = self.when_disconnected()
            published = self.publish(topic, b"?").addCallback(lambda _: echo)
            if await first_of(published, lost) == 1:
                raise ConnectionLost("before the broker had taken in everything")

    # subscribing

    def subscribe(
        self,
        *patterns: str,
        debug: bool = False,
        max_queue: int = MAX_QUEUE,
        callback: Callable[[Message], object] | None = None,
    ) -> Subscription:
        """Subscribe, and return what to iterate over; with `callback`, that is called with each message instead.

        A message comes once, however many of the patterns match. Those that the broker keeps come first, at each call.
        Where the reader does not keep up, the oldest of the `max_queue` messages is dropped and counted. With `debug`,
        publishers do not learn of us.
        """
        subscription = FMQPSubscription(
            [names.from_text(pattern) for pattern in patterns],
            self._unsubscribe,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        subscription.debug = debug
        self._say(self.subscriptions.add(subscription))
        return subscription

    # demand

    def demand(
        self, topic: str, *, max_queue: int = MAX_QUEUE, callback: Callable[[DemandChange], object] | None = None
    ) -> Demand:
        """Watch who listens to a topic, or to all topics that a pattern is equivalent to.

        With `callback`, that is called with each change.
        """
        demand = Demand(
            names.from_text(topic),
            self._unwatch,
            self._limits.wildcards_per_peer,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        self._say(self._demands.add(demand))
        return demand

    def publish_on_demand(self, topic: str, producer: Producer, *, retain: bool = False) -> Deferred[None]:
        """Run a producer only while somebody listens, as `fmqbus.client.on_demand` describes.

        Goes on until the returned Deferred is cancelled; fails with what the producer raises, and with `Detached` when
        the client stops. Keep it, and mind its failure.
        """
        return Deferred.fromCoroutine(self._publish_on_demand(topic, producer, retain))

    async def _publish_on_demand(self, topic: str, producer: Producer, retain: bool) -> None:
        with self.demand(topic, max_queue=1) as demand:
            await run_on_demand(demand, producer, lambda payload: self.publish(topic, payload, retain=retain))

    def _unwatch(self, demand: Demand) -> None:
        self._say(self._demands.remove(demand))

    # what the connection tells; `fmqbus.client.fmqp_link.FMQPLinkOwner`

    def greet(self, link: Link) -> None:
        """Wills first: from here on we may die."""
        link.say(b"".join(self._wills.values()) + self.subscriptions.packets() + self._demands.packets())

    def connection_gone(self, link: Link) -> None:
        """Nobody listens."""
        self._demands.link_lost()

    def publication_received(self, publication: Publication) -> None:
        """Give a run to the subscriptions it concerns."""
        for receiver, matched in publication.targets.entries:
            receiver.put(publication, matched, None)

    def packet_received(self, packet: Packet) -> None:
        """Look at what is no plain publication: feedback, flags, outer slashes, mistakes."""
        try:
            name = names.parse(packet.topic)
        except InvalidName:
            self.invalid += 1
            return
        if packet.is_subscription:
            self.invalid += 1  # no broker subscribes to us
        elif packet.flags & FEEDBACK:
            self._demands.told(name, packet.body)
        else:
            message = BusMessage(name, packet.body, bool(packet.flags & CACHE), bool(packet.flags & LAST_WILL))
            self.publication_received(Publication.of(message, targets=self.subscriptions[name].targets))

    def oversize_received(self, oversize: Oversize) -> None:
        """Count it; its octets are skipped as they come."""
        self.oversize += 1

    def _publication(self, flags: int, topic: str, payload: bytes) -> bytes:
        self._check_size(payload)
        return encode(flags, names.from_text(topic), payload)


def _subscription(name: bytes, standing: Sequence[FMQPSubscription]) -> bytes:
    """What the broker must be told about a pattern. It is hidden as long as all who stand behind it want that."""
    if not standing:
        return encode(SUBSCRIPTION | UNSUBSCRIBE, name)
    return encode(SUBSCRIPTION | DEBUG if all(each.debug for each in standing) else SUBSCRIPTION, name)
