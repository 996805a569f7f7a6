"""What does a client subscribe to, and which of its subscriptions does a message concern?

On the wire there is one subscription per exact pattern, and one copy of each message however many patterns match it;
an application may have several subscriptions to either. This file sorts that out and does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from fmqbus import names
from fmqbus.client.equivalents import Equivalents
from fmqbus.client.events import Message, from_bus
from fmqbus.client.feed import Feed
from fmqbus.errors import InvalidName
from fmqbus.model import NOBODY, SINGLY_ROUTE, Publication, Route, Targets


class Subscription(Feed[Message]):
    """The application's wish for the messages under some patterns: iterate over it, or have had a callback given.

    A message that several of its patterns match comes once. `dropped` counts what a slow reader missed.
    """

    def __init__(
        self,
        patterns: Sequence[bytes],
        forget: Callable[[Any], None],
        max_queue: int,
        max_octets: int,
        callback: Callable[[Message], object] | None,
    ) -> None:
        super().__init__(max_queue, max_octets, callback)
        #: Trimmed names, each once.
        self.patterns = tuple(dict.fromkeys(patterns))
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


S = TypeVar("S", bound=Subscription)


class Subscriptions(dict[bytes, Route], Generic[S]):
    """All subscriptions of one client; as a mapping, what a decoder needs: raw topic → `Route`.

    The mapping is a cache. It is bounded, and forgets everything whenever a subscription comes or goes. That may be
    while the decoder walks through one read: messages in the rest of that read still go to the former subscriptions, of
    which a stopped one ignores them.
    """

    def __init__(self, max_routes: int, encode: Callable[[bytes, Sequence[S]], bytes]) -> None:
        """`encode` returns what the bus must be told about a pattern that these stand behind; without any, that nobody
        wants it any more."""
        super().__init__()
        self._kept: Equivalents[S] = Equivalents()
        self._max_routes = max_routes
        self._encode = encode
        self._targets: dict[tuple[S, ...], Targets] = {}

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

    def add(self, subscription: S) -> bytes:
        """Keep a subscription. Returns what the bus must be told: always something, for the messages that it keeps."""
        for name in subscription.patterns:
            self._kept.add(name, subscription)
        self.forget_routes()
        return b"".join(map(self._said, subscription.patterns))

    def remove(self, subscription: S) -> bytes:
        """Forget a subscription. Returns what the bus must be told; empty if nothing changes for it."""
        self.forget_routes()
        return b"".join(self._removed(name, subscription) for name in subscription.patterns)

    def _removed(self, name: bytes, subscription: S) -> bytes:
        before = self._said(name)
        self._kept.remove(name, subscription)
        after = self._said(name)
        return b"" if after == before else after

    def packets(self) -> bytes:
        """What a new connection must say first."""
        return b"".join(map(self._said, self._kept.names()))

    def kept(self) -> Sequence[S]:
        """All of them."""
        return tuple(dict.fromkeys(self._kept))

    def stop_all(self) -> None:
        """End every subscription."""
        for subscription in self.kept():
            subscription.stop()

    def _said(self, name: bytes) -> bytes:
        return self._encode(name, self._kept.at(name))
