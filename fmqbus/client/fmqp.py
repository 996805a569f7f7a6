"""The FMQP client for Twisted: publish, subscribe, and learn whether anybody listens.

A service with one connection that it keeps up. What the application has asked for (subscriptions, wills, watches) is
said again on each new connection. Deferreds may be awaited in Twisted's coroutines. docs/client.md has whole programs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from twisted.application.internet import ClientService, backoffPolicy
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater

from fmqbus import names
from fmqbus.client.demand import Demand, Demands
from fmqbus.client.events import DemandChange, Message
from fmqbus.client.link import Link
from fmqbus.client.on_demand import Producer, run_on_demand
from fmqbus.client.outgoing import Outgoing
from fmqbus.client.subscription import Subscription, Subscriptions
from fmqbus.client.url import parse_url
from fmqbus.errors import InvalidName, LocalError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import Message as BusMessage
from fmqbus.model import Publication
from fmqbus.protocols.fmqp.codec import CACHE, FEEDBACK, LAST_WILL, Oversize, Packet, encode
from fmqbus.waiting import Waiters, first_of

#: Quick at first, since most interruptions are restarts; the jitter of up to a second keeps a crowd from
#: coming back all at once.
RETRY_POLICY = backoffPolicy(initialDelay=0.1, maxDelay=30.0)

#: Enough to ride out a burst of one read at small sizes.
MAX_QUEUE = 10_000


class FMQPClient(Service):
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
        #: Incorrect packets of the broker, dropped (FMQP, section Processing of incorrect messages).
        self.invalid = 0
        #: Packets whose body was above the limit, skipped.
        self.oversize = 0
        self.subscriptions = Subscriptions(limits.cached_routes)
        self._reactor = reactor
        self._limits = limits
        self._demands = Demands()
        self._wills: dict[bytes, bytes] = {}
        self._outgoing = Outgoing(limits.outbox_octets)
        self._link: Link | None = None
        self._disconnections = Waiters()
        endpoint = parse_url(target).endpoint(reactor) if isinstance(target, str) else target
        factory = Factory.forProtocol(partial(Link, self, limits.body_octets))
        self._connection = ClientService(endpoint, factory, retry_policy, clock=reactor)

    # -- the service

    def startService(self) -> None:
        """Connect, and stay connected."""
        super().startService()
        self._outgoing.reopen()
        self._connection.startService()

    def stopService(self) -> Deferred[None]:
        """End all subscriptions and watches, send what the transport has taken, and disconnect.

        The broker then publishes our wills. Publications that still wait fail with `Detached`. A broker that does not
        read is cut off after `Limits.drain_seconds`.
        """
        super().stopService()
        self.subscriptions.stop_all()
        self._demands.stop_all()
        self._wills.clear()
        self._outgoing.close()
        link, self._link = self._link, None
        if link is None:
            return self._connection.stopService()
        link.say_no_more()
        cut_off = self._reactor.callLater(self._limits.drain_seconds, link.abort)
        return self._connection.stopService().addCallback(lambda _: cut_off.active() and cut_off.cancel())

    @property
    def is_connected(self) -> bool:
        """There is a connection now."""
        return self._link is not None

    async def when_connected(self, attempts: int | None = None) -> None:
        """Wait for a connection.

        After so many failed `attempts` in a row (None: never) raises what the last one failed with. Raises
        `CancelledError` when the client stops.
        """
        try:
            await self._connection.whenConnected(attempts)
        finally:
            # ClientService calls back in the middle of a step, in which it could not be stopped
            await deferLater(self._reactor, 0)

    def when_disconnected(self) -> Deferred[None]:
        """Return a Deferred that fires when the connection goes, on purpose or not."""
        return self._disconnections.wait()

    # -- publishing

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

    # -- subscribing

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
        subscription = Subscription(
            [names.from_text(pattern) for pattern in patterns],
            debug,
            self._unsubscribe,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        self._say(self.subscriptions.add(subscription))
        return subscription

    def _unsubscribe(self, subscription: Subscription) -> None:
        self._say(self.subscriptions.remove(subscription))

    # -- demand

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

    # -- what the connection tells; `fmqbus.client.link.LinkOwner`

    def link_made(self, link: Link) -> None:
        """Say everything again, wills first: from here on we may die."""
        self._link = link
        link.send(b"".join(self._wills.values()) + self.subscriptions.packets() + self._demands.packets())
        self._outgoing.resume(link.send)

    def link_lost(self, link: Link) -> None:
        """Publications wait from now on, and nobody listens."""
        self._link = None
        self._outgoing.pause()
        self._demands.link_lost()
        self._disconnections.fire()

    def room_changed(self, link: Link, has_room: bool) -> None:
        """Publications wait, or go on."""
        if has_room:
            self._outgoing.resume(link.send)
        else:
            self._outgoing.pause()

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

    # -- what we tell the broker

    def _say(self, packets: bytes) -> None:
        """Send what changes our state at the broker. Without a connection the next one says it."""
        if self._link is not None and packets:
            self._link.send(packets)

    def _publication(self, flags: int, topic: str, payload: bytes) -> bytes:
        if len(payload) > self._limits.body_octets:
            raise LocalError(f"a payload of {len(payload)} octets; at most {self._limits.body_octets} are sent")
        return encode(flags, names.from_text(topic), payload)
