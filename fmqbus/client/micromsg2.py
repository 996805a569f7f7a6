"""The MicroMsg2 client for Twisted: send to queues and topics and know that it has arrived; consume, and subscribe with
filters.

A service with one connection that it keeps up. Subscriptions, consumptions and wills are said again on each new one.
Deferreds may be awaited in Twisted's coroutines. docs/client.md has whole programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.logger import Logger

from fmqbus import names
from fmqbus.client.consumption import Consumption
from fmqbus.client.events import Message
from fmqbus.client.feed import MAX_QUEUE
from fmqbus.client.filtered_subscription import FilteredSubscription, encode_subscription
from fmqbus.client.micromsg2_link import Letter, MicroMsg2Link
from fmqbus.client.micromsg2_login import LoggingIn
from fmqbus.client.micromsg2_words import QUEUE, check_opened, concerns, consumption, letter, offer
from fmqbus.client.opening import OpeningEndpoint
from fmqbus.client.queue_message import Delivery
from fmqbus.client.reconnecting import RETRY_POLICY
from fmqbus.client.sasl import Login
from fmqbus.client.subscribing import SubscribingClient
from fmqbus.client.subscription import Subscriptions
from fmqbus.client.unacknowledged import AcknowledgedOutgoing
from fmqbus.client.url import endpoint_of
from fmqbus.errors import InvalidName, LocalError, Refused
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import NO_PROPERTIES, Publication, Terms
from fmqbus.model import Message as BusMessage
from fmqbus.protocols.micromsg2.connection import Connection, Role
from fmqbus.protocols.micromsg2.destinations import Kind, parse
from fmqbus.protocols.micromsg2.extensions.sasl import X_SASL
from fmqbus.protocols.micromsg2.filters import parse_filter
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.properties import to_bus
from fmqbus.protocols.micromsg2.requests import is_retained, is_will
from fmqbus.protocols.micromsg2.wire import TOPIC

_log = Logger()


class MicroMsg2Client(SubscribingClient):
    """A client of one bus, at a URL (`fmqbus.client.url`) or behind any endpoint.

    In the handshake it says who it is by `identity`, and which extensions it has to have and would like, written as
    there: ``json;x-trace:length=8``. The specification's are known, `extensions` adds others. `window` messages are on
    their way unacknowledged at most, in either direction; the server may lower that. Without one (0) nothing is
    acknowledged, and no queue can be consumed.

    What was not acknowledged when the connection goes is sent again on the next one, and may so arrive twice. With
    `resend` False it fails with `ConnectionLost`.

    `credentials` say who the client is (`fmqbus.client.sasl`): it is sure of being let in as that, by the extension
    ``x-sasl``, before it says anything else. Passwords that have to be shown are, only where nobody else can listen.

    `limits` bound what the other side can cost: `body_octets`, `outbox_octets` (of what waits to be sent or to be
    acknowledged, and of each subscription's queue), `cached_routes`, `handshake_seconds`. Raises `InvalidURL`, and
    `LocalError` for extensions that nobody could agree to.

    Names are text, with or without outer slashes; every method that takes one raises `InvalidName`.
    """

    _outgoing: AcknowledgedOutgoing[Letter]
    _link: MicroMsg2Link | None

    def __init__(
        self,
        target: str | IStreamClientEndpoint,
        reactor: Any,
        *,
        identity: str = "",
        window: int = 100,
        required: str = "pubsub",
        suggested: str = "",
        extensions: Sequence[IMicroMsg2Extension] = (),
        resend: bool = True,
        credentials: Login | None = None,
        limits: Limits = DEFAULT_LIMITS,
        retry_policy: Callable[[int], float] = RETRY_POLICY,
    ) -> None:
        self._can_consume = window > 0
        self._resend = resend
        self._consumptions: dict[bytes, Consumption] = {}
        self._wills: dict[bytes, Letter] = {}
        outgoing: AcknowledgedOutgoing[Letter] = AcknowledgedOutgoing(limits.outbox_octets)
        prelude = None
        if credentials is not None:
            required = f"{required};{X_SASL.name}"
            prelude = partial(LoggingIn, login=credentials, reactor=reactor)
        brought = offer(identity, window, required, suggested, (X_SASL, *extensions), limits)
        super().__init__(
            OpeningEndpoint(
                endpoint_of(target, "micromsg2", reactor),
                partial(Connection, Role.CLIENT, brought),
                check_opened,
                limits.handshake_seconds,
                reactor,
                outgoing.fail,
                prelude,
            ),
            Factory.forProtocol(partial(MicroMsg2Link, self, reactor)),
            reactor,
            limits,
            retry_policy,
            outgoing,
            subscriptions=Subscriptions(limits.cached_routes, encode_subscription),
        )

    # sending

    def send(
        self,
        destination: str,
        payload: bytes,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        priority: int = 0,
        time_to_live: float | None = None,
        delay: float = 0.0,
    ) -> Deferred[None]:
        """Send a message to a destination as MicroMsg2 writes it: ``queue/NAME`` or ``NAME`` alone, ``topic/NAME``, or
        nothing for the server's default queue. The terms are those of `fmqbus.model.Terms`, for queues.

        Returns a Deferred that fires once the server has taken the message over; without acknowledgements, once the
        transport has. It fails with `Refused` and the server's text if the server says ERROR and goes, or refuses the
        handshake. Messages wait while there is no connection, or no room in the window: raises `Overloaded` when all
        that is not acknowledged takes more than `Limits.outbox_octets`; see `when_room`. After the client has stopped,
        raises `Detached`; raises `LocalError` for what has no place in a message.
        """
        terms = Terms(priority=priority, time_to_live=time_to_live, delay=delay)
        return self._send(letter(destination.encode(), payload, properties, terms))

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> Deferred[None]:
        """Publish a message to a topic; with `retain` the bus also keeps it for later subscribers. As `send` in all
        else."""
        return self._send(self._publication(topic, payload, properties, retain=retain))

    def set_will(
        self, topic: str, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> Deferred[None]:
        """Have the bus publish this when our connection goes, however it goes.

        One per topic; an empty payload removes it. Returns what `send` does. Once acknowledged, it is said again on
        each new connection: a client that reconnects has died once and may die again.
        """
        will = self._publication(topic, payload, properties, retain=retain, will=True)

        def remember(_: None) -> None:
            if payload:
                self._wills[will.destination] = will
            else:
                self._wills.pop(will.destination, None)

        return self._send(will).addCallback(remember)

    async def sync(self) -> None:
        """Wait until all that was sent so far is acknowledged, or has failed. Cancelling this cancels no message."""
        await self._outgoing.when_done()

    def _send(self, sent: Letter) -> Deferred[None]:
        self._check_size(sent.payload)
        return self._outgoing.send(sent)

    @staticmethod
    def _publication(topic: str, payload: bytes, properties: Mapping[str, str], **asked: bool) -> Letter:
        """`asked` are properties by which a producer asks something of the bus."""
        flags = {name: "1" for name, is_asked in asked.items() if is_asked}
        return letter(TOPIC + names.from_text(topic), payload, {**properties, **flags})

    # receiving

    def subscribe(
        self,
        *patterns: str,
        filters: Sequence[str] = (),
        max_queue: int = MAX_QUEUE,
        callback: Callable[[Message], object] | None = None,
    ) -> FilteredSubscription:
        """Subscribe, and return what to iterate over; with `callback`, that is called with each message instead.

        Each filter is ``property OPERATOR value``, as in ``price>=N10`` and ``city=TBern``; all must hold. Raises
        `PeerError` for one that cannot be meant, and `Overloaded` for too many.

        A message comes once, however many of the patterns match. Those that the bus keeps come first, at each call.
        Where the reader does not keep up, the oldest of the `max_queue` messages is dropped and counted. If the server
        does not allow it, iterating raises `Refused`.
        """
        understood = parse_filter(filters, self._limits)
        subscription = FilteredSubscription(
            [names.from_text(pattern) for pattern in patterns],
            self._unsubscribe,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        subscription.filters, subscription.filter = filters, understood
        self._say(self.subscriptions.add(subscription))
        return subscription

    def consume(self, queue: str, *, callback: Callable[[Delivery], object] | None = None) -> Consumption:
        """Receive messages of a queue, and return what to iterate over; with `callback`, that is called with each
        instead. Each has to be accepted, in any order.

        Acknowledgements are for all up to a message: while one is not accepted, no later one is acknowledged, of
        whatever queue or topic, and when the window is full nothing more comes. Those that are not accepted when the
        connection goes come again, to whomever. To end a consumption that still holds some, the client leaves and comes
        back, since the protocol has no other word for it. Raises `LocalError` for a queue that this client consumes
        already. If the server does not allow it, iterating raises `Refused`.
        """
        name = names.from_text(queue)
        if not self._can_consume:
            raise LocalError("a client without acknowledgements cannot consume")
        if name in self._consumptions:
            raise LocalError(f"this client consumes {queue} already")
        wish = self._consumptions[name] = Consumption(name, self._leave, callback)
        self._say(consumption("subscribe", name))
        return wish

    def _leave(self, wish: Consumption) -> None:
        del self._consumptions[wish.queue]
        self._say(consumption("unsubscribe", wish.queue))
        if wish.held:
            self._give_back()

    def _give_back(self) -> None:
        if self._link is not None:
            self._link.give_back(self._limits.drain_seconds)

    # what the connection tells; `fmqbus.client.micromsg2_link.MicroMsg2LinkOwner`

    def greet(self, link: MicroMsg2Link) -> None:
        """Wills first: from here on we may die."""
        self._outgoing.is_acknowledged = link.is_acknowledged
        for will in self._wills.values():
            link.send(will)
        consumed = (consumption("subscribe", queue) for queue in self._consumptions)
        link.say(b"".join((self.subscriptions.packets(), *consumed)))

    def connection_gone(self, link: MicroMsg2Link) -> None:
        """Decide about what was not acknowledged."""
        for wish in self._consumptions.values():
            wish.connection_lost()
        if link.complaint:
            self._outgoing.connection_lost(Refused(link.complaint))
        else:
            self._outgoing.connection_lost(None if self._resend else ConnectionLost("before it was acknowledged"))

    def forget_wishes(self) -> None:
        super().forget_wishes()
        for wish in list(self._consumptions.values()):
            wish.stop()
        self._wills.clear()

    def messages_received(self, link: MicroMsg2Link, destination: bytes, messages: Sequence[Received]) -> None:
        """Those to topics are done with when they are in the queues of their subscriptions. Those of a queue that
        nobody consumes any more go back, and so does all that comes beyond the window."""
        try:
            kind, name = parse(destination, b"")
        except InvalidName:
            self.invalid += len(messages)
            link.settle_up_to(messages[-1].number)
            return
        wish = self._consumptions.get(name)
        if kind is Kind.TOPIC:
            self._published(name, messages)
            link.settle_up_to(messages[-1].number)
        elif wish is not None:
            wish.take(link, messages)
            if wish.held > link.window:
                self.invalid += 1
                self._give_back()
        else:
            self._give_back()

    def _published(self, topic: bytes, messages: Sequence[Received]) -> None:
        targets = self.subscriptions[topic].targets
        if targets is None or not targets.entries:
            return
        publication = Publication(
            None, b"", len(messages), targets, None, tuple(_for_bus(topic, message) for message in messages)
        )
        for receiver, matched in targets.entries:
            receiver.put(publication, matched, None)

    def acknowledged(self, letters: Iterable[Letter]) -> None:
        """They are the server's now."""
        self._outgoing.acknowledged(letters)

    def error_received(self, text: str) -> bool:
        """If it is about a topic or a queue that we asked for, that is over."""
        wishes = [wish for wish in self._consumptions.values() if concerns(text, QUEUE + wish.queue)]
        concerned = [
            each for each in self.subscriptions.kept() if any(concerns(text, TOPIC + n) for n in each.patterns)
        ]
        for feed in (*wishes, *concerned):
            feed.fail(Refused(text))
        is_known = bool(wishes or concerned)
        if not is_known:
            _log.warn("the server says ERROR: {text!r}", text=text)
        return is_known


def _for_bus(topic: bytes, message: Received) -> BusMessage:
    properties = to_bus(message.properties, message.annotations)
    return BusMessage(topic, message.payload, is_retained(properties), is_will(properties), properties)
