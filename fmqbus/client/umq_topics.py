"""What does a UMQ client hear of? Patterns that it subscribes to or watches, and queues that it consumes.

Each is one topic on the wire, asked for again on each connection. Several subscriptions of the application to one
pattern share a topic, since the bus has one of each for a client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from sys import maxsize
from typing import Any, Generic, TypeVar

import msgspec

from fmqbus import names
from fmqbus.calls import FailedAttachment
from fmqbus.client.demand import Demand
from fmqbus.client.events import Message
from fmqbus.client.feed import Feed
from fmqbus.client.queue_message import QueueMessage
from fmqbus.client.subscription import Subscription
from fmqbus.client.umq_link import Standing, Topic
from fmqbus.client.umq_words import decode_json
from fmqbus.errors import PeerError
from fmqbus.model import NO_PROPERTIES, Outcome, Overflow
from fmqbus.protocols.umq.attachments import Attachment


class _MessageUpdate(msgspec.Struct):
    """See docs/protocols/umq.md."""

    topic: str
    text: str | None = None
    properties: Mapping[str, str] = NO_PROPERTIES
    retain: bool = False
    number: int = 0
    redelivered: bool = False
    deliveries: int = 1

    def payload(self, attachments: Sequence[Attachment]) -> bytes:
        """Text, or the one attachment."""
        if self.text is not None:
            return self.text.encode()
        if len(attachments) != 1 or isinstance(attachments[0], FailedAttachment):
            raise PeerError("an update without its payload")
        return attachments[0]


class _InterestUpdate(msgspec.Struct):
    """See docs/protocols/umq.md."""

    pattern: str
    subscribers: int


class UMQSubscription(Subscription):
    """A subscription of a UMQ client."""

    #: Publishers that watch do not learn of it.
    hidden = False
    #: What the bus does with messages for which the connection has no room; None is as the bus is configured.
    overflow: Overflow | None = None


F = TypeVar("F", bound=Feed[Any])


class _Shared(Generic[F]):
    """One pattern, and what of the application stands behind it."""

    def __init__(self, name: bytes) -> None:
        self.name = name
        self.feeds: list[F] = []
        self.standing: Standing | None = None

    def ended(self, error: Exception) -> None:
        """All of them end."""
        self.standing = None
        for feed in list(self.feeds):
            feed.fail(error)


class Subscribed(_Shared[UMQSubscription]):
    """A pattern that is subscribed to; hidden as long as all who stand behind it want that. Of several policies the
    latest counts."""

    def request(self, id: str) -> Sequence[Any]:
        """See `fmqbus.client.umq_link.Topic`."""
        options: dict[str, Any] = {"hidden": all(each.hidden for each in self.feeds)}
        for each in self.feeds:
            if each.overflow is not None:
                options["overflow"] = each.overflow.value
        return ["subscribe", names.to_text(self.name), id, options]

    def updated(self, standing: Standing, payload: bytes, attachments: Sequence[Attachment]) -> None:
        """A message that several patterns of a subscription match comes under each; the first of them counts."""
        update = decode_json(payload, _MessageUpdate)
        message = Message(update.topic, update.payload(attachments), update.retain, properties=dict(update.properties))
        for each in list(self.feeds):
            if len(each.patterns) == 1 or self._is_first_of(each, update.topic):
                each.extend([message])

    def _is_first_of(self, subscription: UMQSubscription, topic: str) -> bool:
        name = names.from_text(topic)
        return self.name == next((each for each in subscription.patterns if names.equivalent(each, name)), None)


class Watched(_Shared[Demand]):
    """A pattern that is watched."""

    def request(self, id: str) -> Sequence[Any]:
        """See `fmqbus.client.umq_link.Topic`."""
        return ["watch", names.to_text(self.name), id]

    def updated(self, standing: Standing, payload: bytes, attachments: Sequence[Attachment]) -> None:
        """The number of subscribers to a pattern has changed."""
        update = decode_json(payload, _InterestUpdate)
        for each in list(self.feeds):
            each.told(names.from_text(update.pattern), update.subscribers)

    def connection_lost(self) -> None:
        """Nobody listens over a connection that has gone."""
        for each in self.feeds:
            each.link_lost()


#: What is called with what becomes of a message: where it came from, its number there, the verdict and the reason.
Settle = Callable[[Standing, int, Outcome, str], object]


class UMQConsumption(Feed[QueueMessage]):
    """The application's wish for the messages of one queue: iterate over it, or have had a callback given.

    Each message has to be settled: accepted, released or rejected, in any order; until then it counts against the
    window. A callback that raises leaves its message as it is.
    """

    def __init__(
        self,
        queue: bytes,
        options: Mapping[str, int],
        forget: Callable[[UMQConsumption], None],
        settle: Settle,
        callback: Callable[[QueueMessage], object] | None,
    ) -> None:
        super().__init__(maxsize, maxsize, callback)
        #: Trimmed.
        self.queue = queue
        self.standing: Standing | None = None
        self._options = options
        self._forget = forget
        self._settle = settle

    def request(self, id: str) -> Sequence[Any]:
        """See `fmqbus.client.umq_link.Topic`."""
        return ["consume", names.to_text(self.queue), id, self._options]

    def updated(self, standing: Standing, payload: bytes, attachments: Sequence[Attachment]) -> None:
        """A message has come."""
        update = decode_json(payload, _MessageUpdate)
        message = QueueMessage(
            names.to_text(self.queue),
            update.payload(attachments),
            dict(update.properties),
            update.redelivered,
            update.deliveries,
            partial(self._settle, standing, update.number),
        )
        self.extend([message])

    def ended(self, error: Exception) -> None:
        """The bus does not let us consume it, or not any more."""
        self.standing = None
        self.fail(error)

    def connection_lost(self) -> None:
        """What had come comes again."""
        self.clear()

    def stop(self) -> None:
        """Consume no more; what is not settled goes back to the queue. May be repeated."""
        if not self.is_stopped:
            super().stop()
            self._forget(self)

    def __repr__(self) -> str:
        return f"<Consumption of {names.to_text(self.queue)}>"


class Topics:
    """All that one client hears of."""

    def __init__(self) -> None:
        self._subscribed: dict[bytes, Subscribed] = {}
        self._watched: dict[bytes, Watched] = {}
        self._consumed: dict[UMQConsumption, None] = {}

    def __iter__(self) -> Iterator[Topic]:
        return iter([*self._subscribed.values(), *self._watched.values(), *self._consumed])

    def add_subscription(self, subscription: UMQSubscription) -> Sequence[Subscribed]:
        """Returns what has to be asked for, also where somebody has asked before, for the messages that the bus
        keeps."""
        topics = [self._subscribed.setdefault(name, Subscribed(name)) for name in subscription.patterns]
        for topic in topics:
            topic.feeds.append(subscription)
        return topics

    def add_watch(self, demand: Demand) -> Watched:
        """As `add_subscription`, so that the newcomer is told too."""
        topic = self._watched.setdefault(demand.name, Watched(demand.name))
        topic.feeds.append(demand)
        return topic

    def add(self, consumption: UMQConsumption) -> None:
        """Each is a topic of its own."""
        self._consumed[consumption] = None

    def remove(self, feed: Feed[Any]) -> Sequence[Topic]:
        """Returns what nobody wants any more."""
        if isinstance(feed, UMQConsumption):
            del self._consumed[feed]
            return [feed]
        if isinstance(feed, Demand):
            return _without(self._watched, [feed.name], feed)
        assert isinstance(feed, UMQSubscription), "there are three kinds"
        return _without(self._subscribed, feed.patterns, feed)

    def connection_lost(self) -> None:
        """The next one asks anew."""
        for watched in self._watched.values():
            watched.connection_lost()
        for consumption in self._consumed:
            consumption.connection_lost()

    def stop_all(self) -> None:
        """End every feed."""
        topics: list[_Shared[Any]] = [*self._subscribed.values(), *self._watched.values()]
        for topic in topics:
            for feed in list(topic.feeds):
                feed.stop()
        for consumption in list(self._consumed):
            consumption.stop()


def _without(topics: dict[bytes, Any], names: Sequence[bytes], feed: Feed[Any]) -> Sequence[Topic]:
    unwanted = []
    for name in names:
        topic = topics[name]
        topic.feeds.remove(feed)
        if not topic.feeds:
            unwanted.append(topics.pop(name))
    return unwanted
