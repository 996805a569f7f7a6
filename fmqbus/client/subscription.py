"""What does this client subscribe to, and which of its subscriptions does a message concern?

On the wire there is one subscription per exact pattern, and one copy of each message however many patterns match it;
an application may have several subscriptions to either. This file sorts that out and does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fmqbus import names
from fmqbus.client.equivalents import Equivalents
from fmqbus.client.events import Message, from_bus
from fmqbus.client.feed import Feed
from fmqbus.errors import InvalidName
from fmqbus.model import NOBODY, SINGLY_ROUTE, Publication, Route, Targets
from fmqbus.protocols.fmqp.codec import DEBUG, SUBSCRIPTION, UNSUBSCRIBE, encode


class Subscription(Feed[Message]):
    """The application's wish for the messages under some patterns: iterate over it, or have had a callback given.

    A message that several of its patterns match comes once. `dropped` counts what a slow reader missed.
    """

    def __init__(
        self,
        patterns: Sequence[bytes],
        debug: bool,
        forget: Callable[[Subscription], None],
        max_queue: int,
        max_octets: int,
        callback: Callable[[Message], object] | None,
    ) -> None:
        super().__init__(max_queue, max_octets, callback)
        #: Trimmed names, each once.
        self.patterns = tuple(dict.fromkeys(patterns))
        #: Hidden from the feedback that publishers get (FMQP, section Debugging messages).
        self.debug = debug
        self._forget = forget

    def put(self, publication: Publication, matched: tuple[Any, ...], source: Any) -> None:
        """Take a run; `fmqbus.model.Receiver`."""
        self.extend(from_bus(publication.messages))

    def stop(self) -> None:
        """Unsubscribe. May be repeated."""
        if not self.is_stopped:
            super().stop()
            self._forget(self)

    def __repr__(self) -> str:
        return f"<Subscription to {', '.join(map(names.to_text, self.patterns))}>"


class Subscriptions(dict[bytes, Route]):
    """All subscriptions of one client; as a mapping, what the codec's decoder needs: raw topic → `Route`.

    The mapping is a cache. It is bounded, and forgets everything whenever a subscription comes or goes. That may be
    while the decoder walks through one read: messages in the rest of that read still go to the former subscriptions, of
    which a stopped one ignores them.
    """

    def __init__(self, max_routes: int) -> None:
        super().__init__()
        self._kept: Equivalents[Subscription] = Equivalents()
        self._max_routes = max_routes
        self._targets: dict[tuple[Subscription, ...], Targets] = {}

    def __missing__(self, raw: bytes) -> Route:
        try:
            name = names.parse(raw)
        except InvalidName:
            return SINGLY_ROUTE
        if name != raw:
            return SINGLY_ROUTE  # its outer slashes have to go first
        if len(self) >= self._max_routes:
            self.forget_routes()
        route = self[raw] = Route(name, None, self._targets_of(name))
        return route

    def _targets_of(self, name: bytes) -> Targets:
        """The subscriptions that a topic concerns; the same object for all topics that concern the same ones."""
        matching = tuple(dict.fromkeys(self._kept.matching(name)))
        if not matching:
            return NOBODY
        return self._targets.setdefault(matching, Targets(tuple((each, ()) for each in matching)))

    def forget_routes(self) -> None:
        """Start the cache anew."""
        self.clear()
        self._targets.clear()

    def add(self, subscription: Subscription) -> bytes:
        """Keep a subscription. Returns what the broker must be told: always something, for the cached messages."""
        for name in subscription.patterns:
            self._kept.add(name, subscription)
        self.forget_routes()
        return b"".join(map(self._packet, subscription.patterns))

    def remove(self, subscription: Subscription) -> bytes:
        """Forget a subscription. Returns what the broker must be told; empty if nothing changes for it."""
        self.forget_routes()
        return b"".join(self._removed(name, subscription) for name in subscription.patterns)

    def _removed(self, name: bytes, subscription: Subscription) -> bytes:
        was_hidden = self._is_hidden(name)
        self._kept.remove(name, subscription)
        if not self._kept.at(name):
            return encode(SUBSCRIPTION | UNSUBSCRIBE, name)
        return self._packet(name) if self._is_hidden(name) != was_hidden else b""

    def packets(self) -> bytes:
        """What a new connection must say first."""
        return b"".join(map(self._packet, self._kept.names()))

    def stop_all(self) -> None:
        """End every subscription."""
        for subscription in dict.fromkeys(self._kept):
            subscription.stop()

    def _packet(self, name: bytes) -> bytes:
        return encode(SUBSCRIPTION | DEBUG if self._is_hidden(name) else SUBSCRIPTION, name)

    def _is_hidden(self, name: bytes) -> bool:
        """The wire subscription is hidden as long as every one that stands behind it is."""
        return all(subscription.debug for subscription in self._kept.at(name))
