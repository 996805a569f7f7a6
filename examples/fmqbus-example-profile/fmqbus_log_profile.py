"""``acme/log``, a profile of MTL: resources are topics, whose last contents come first to whoever summons them.

What is remembered is what came by this profile, in the memory of one broker, and within bounds.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import InvalidName, Refused
from fmqbus.interfaces import IMTLClient, IMTLFlow, IMTLProfile, IMTLReader, IMTLWriter
from fmqbus.model import Action, Consumer, Message, Outcome, Publication, StoredMessage, Subscription
from fmqbus.protocols.mtl.properties import table_of, to_bus

#: Contents of one topic, and topics, that are remembered; of more topics, those are forgotten that were written to
#: longest ago.
LAST, MOST_TOPICS = 10, 1_000


class Log:
    """What has been written on one bus."""

    def __init__(self) -> None:
        self._messages: OrderedDict[bytes, deque[Message]] = OrderedDict()

    def add(self, message: Message) -> None:
        """Remember it."""
        self._messages.setdefault(message.topic, deque(maxlen=LAST)).append(message)
        self._messages.move_to_end(message.topic)
        if len(self._messages) > MOST_TOPICS:
            self._messages.popitem(last=False)

    def of(self, topic: bytes) -> Sequence[Message]:
        """The last ones of a topic."""
        return tuple(self._messages.get(topic, ()))


@implementer(IMTLReader)
class LogReader:
    """One flow that reads."""

    def __init__(self, flow: IMTLFlow, log: Log) -> None:
        self._flow = flow
        self._log = log
        #: What is summoned, by its name on the bus.
        self._subscriptions: dict[bytes, Subscription] = {}
        #: What has no room yet.
        self._waiting: deque[tuple[Subscription, Message]] = deque()

    def summon(self, resource: bytes) -> None:
        name = topic_of(self._flow, resource)
        if name in self._subscriptions:
            raise InvalidName("it is summoned in another spelling")
        # raises if the client may not
        subscription = self._flow.bus.subscribe(name, tag=resource)
        self._subscriptions[name] = subscription
        self._waiting.extend((subscription, message) for message in self._log.of(name))
        # the client is to be told first that this has succeeded
        self._flow.soon(self.go_on)

    def dismiss(self, resource: bytes) -> None:
        name = topic_of(self._flow, resource)
        if self._subscriptions.pop(name, None) is not None:
            self._flow.bus.unsubscribe(name)

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        for publication, matched in batch:
            self._waiting.extend((each, message) for each in matched for message in publication.messages)
        self._send()
        if self._waiting:
            self._flow.bus.pause_delivery()

    def settled(self, tags: Sequence[Any], outcome: Outcome) -> None:
        self.go_on()

    def go_on(self) -> None:
        self._send()
        if not self._waiting:
            self._flow.bus.resume_delivery()

    def _send(self) -> None:
        while self._waiting and self._flow.room:
            subscription, message = self._waiting.popleft()
            # unless it has been dismissed meanwhile
            if self._subscriptions.get(subscription.pattern) is subscription:
                self._flow.send(subscription.tag, table_of(message), message.payload)

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        del self._subscriptions[subscription.pattern]
        self._flow.dismissed(subscription.tag)

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """No queue is consumed."""

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """No queue is consumed."""

    def ended(self) -> None:
        """Nothing goes to others instead."""


@implementer(IMTLWriter)
class LogWriter:
    """One flow that writes."""

    def __init__(self, flow: IMTLFlow, log: Log) -> None:
        self._flow = flow
        self._log = log

    def write(self, resource: bytes, table: bytes, body: bytes) -> None:
        message = Message(topic_of(self._flow, resource), body, properties=to_bus(table))
        # raises if the client may not
        self._flow.bus.publish(message)
        self._log.add(message)

    def turn_over(self) -> None:
        """Nothing has gathered."""


@implementer(IPlugin, IMTLProfile)
class LogProfile:
    """The part."""

    name = "acme/log"
    summary = "topics whose last contents come to whoever summons them"
    resources: Sequence[bytes] = ()
    confirms_readers = True
    confirms_writers = True

    def __init__(self) -> None:
        #: A part may serve several buses.
        self._logs: WeakKeyDictionary[Any, Log] = WeakKeyDictionary()

    def demand(self, client: IMTLClient, is_reader: bool, resource: bytes) -> None:
        action = Action.SUBSCRIBE if is_reader else Action.PUBLISH
        if not client.router.authorize(client.principal, action, topic_of(client, resource)):
            raise Refused("it may not")

    def reader(self, flow: IMTLFlow) -> LogReader:
        return LogReader(flow, self._logs.setdefault(flow.router, Log()))

    def writer(self, flow: IMTLFlow) -> LogWriter:
        return LogWriter(flow, self._logs.setdefault(flow.router, Log()))


def topic_of(client: IMTLClient, resource: bytes) -> bytes:
    """What a resource is called on the bus. Raises `InvalidName`."""
    name: bytes = client.name_of(resource)
    if names.is_wild(name):
        raise InvalidName("what is remembered has one name")
    return name


LOG = LogProfile()
