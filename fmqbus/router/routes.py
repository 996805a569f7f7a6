"""Where does a publication of a topic go? Routes, their targets, and the caches that make asking cheap.

Three steps, each remembered by the one above it:

- `RouteCache`, one for all sessions of equal principals: the raw topic octets, as a peer wrote them → `Route`, with the
  authorizer's answer in it. The only thing the hot path asks.
- `RouteTable.routes`: trimmed topic → `Route`, one for the bus. Live: a change of subscriptions sets the `targets`
  of the routes it may concern to None, in time proportional to what was matched since the last change, and the next
  publication matches them anew.
- `Targets`, shared by all routes that lead to just the same receivers, so that a run may span topics.

Caches are bounded by `Limits.cached_routes`; at the bound all of them start anew. What is lost then is time, and the
counters of topics.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from fmqbus import names
from fmqbus.errors import InvalidName
from fmqbus.limits import Limits
from fmqbus.model import NOBODY, SINGLY_ROUTE, Action, Principal, Route, Subscription, Targets
from fmqbus.topic_index import TopicIndex

if TYPE_CHECKING:
    from fmqbus.router.session import Session

Authorize = Callable[[Principal, Action, bytes], bool]


class Subscribers(dict["Session", Subscription]):
    """All subscriptions to one exact pattern."""

    __slots__ = ("visible",)

    def __init__(self) -> None:
        super().__init__()
        #: How many of them are not hidden: the pattern's interest.
        self.visible = 0


class RouteCache(dict[bytes, Route]):
    """Raw topic → route, for principals that the authorizer cannot tell apart. Fills itself when asked."""

    __slots__ = ("__weakref__", "_principal", "_table")

    def __init__(self, table: RouteTable, principal: Principal) -> None:
        super().__init__()
        self._table = table
        self._principal = principal

    def __missing__(self, raw: bytes) -> Route:
        # room first: it may forget every route, and one that the table does not know follows no change
        self._table.make_room_for_cached()
        route = self[raw] = self._table.route_for(raw, self._principal)
        return route


class RouteTable:
    """All routes of one bus, and the subscriptions that they are matched against."""

    def __init__(self, limits: Limits, authorize: Authorize, wildcards_reach_service: bool) -> None:
        self.subscriptions: TopicIndex[Subscribers] = TopicIndex()
        self.routes: dict[bytes, Route] = {}
        self._limits = limits
        self._authorize = authorize
        self._wildcards_reach_service = wildcards_reach_service
        self._caches: WeakValueDictionary[Principal, RouteCache] = WeakValueDictionary()
        self._cached = 0
        #: Routes whose targets were matched since a wildcard subscription last changed.
        self._matched: set[Route] = set()
        self._targets: WeakValueDictionary[tuple[object, ...], Targets] = WeakValueDictionary()

    def cache_of(self, principal: Principal) -> RouteCache:
        """The cache shared by all sessions of this principal; lives as long as one of them."""
        cache = self._caches.get(principal)
        if cache is None:
            cache = self._caches[principal] = RouteCache(self, principal)
        return cache

    def route_for(self, raw: bytes, principal: Principal) -> Route:
        """The fast lane's answer for a topic as written: its route, or `SINGLY_ROUTE` if it needs a look of its own."""
        try:
            topic = names.parse(raw)
        except InvalidName:
            return SINGLY_ROUTE
        if topic != raw or names.is_service(topic) or names.is_wild(topic):
            return SINGLY_ROUTE
        if not self._authorize(principal, Action.PUBLISH, topic):
            return SINGLY_ROUTE
        route = self.routes.get(topic)
        if route is None:
            route = self.routes[topic] = Route(topic, self)
            if not self.subscriptions.has_wild:
                # one lookup tells the targets; with wildcards it may take long, and the session decides when
                self.match(route)
        return route

    def make_room_for_cached(self) -> None:
        """Called for each entry that a cache is about to add."""
        if self._cached >= self._limits.cached_routes:
            self.forget()
        self._cached += 1

    def forget(self) -> None:
        """Start all caches anew: the policy has changed, or they are full."""
        for cache in self._caches.values():
            cache.clear()
        self.routes.clear()
        self._matched.clear()
        self._cached = 0

    def changed(self, pattern: bytes) -> None:
        """The subscriptions to this pattern have changed."""
        if names.is_wild(pattern):
            for route in self._matched:
                route.targets = None
            self._matched.clear()
        else:
            exact = self.routes.get(pattern)
            if exact is not None:
                exact.targets = None

    def match(self, route: Route) -> Targets:
        """Find the targets of a route anew. See `fmqbus.model.RouteMatcher`."""
        route.targets = self.targets_of(route.topic, None)
        self._matched.add(route)
        return route.targets

    def targets_of(self, topic: bytes, publisher: Principal | None) -> Targets:
        """Who receives a publication of this topic.

        A subscription wider than the topic is checked again for the topic itself, so that a wildcard never reaches
        what its owner may not read. With `publisher` the same holds for a wildcard topic and who may be written to;
        it never reaches a service topic. Raises `Overloaded` for a wildcard topic that would look at too many
        subscriptions.
        """
        is_wild = names.is_wild(topic)
        if not is_wild and not self.subscriptions.has_wild:
            # nothing but the topic itself can match, and that was checked when it was subscribed
            subscribers = self.subscriptions.get(topic)
            if not subscribers:
                return NOBODY
            if len(subscribers) == 1:
                session, subscription = next(iter(subscribers.items()))
                return _sole(session, (subscription,))
            return self._shared({session: (subscription,) for session, subscription in subscribers.items()})
        found: dict[Session, list[Subscription]] = {}
        decisions: dict[tuple[Principal, bytes], bool] = {}
        budget = self._limits.match_visits if publisher is not None else sys.maxsize
        for pattern, subscribers in self.subscriptions.matching(topic, budget):
            if pattern == topic:
                for session, subscription in subscribers.items():
                    found.setdefault(session, []).append(subscription)
                continue
            if not self.may_meet(topic, pattern):
                continue
            # a topic without a wildcard is itself what it has in common with a pattern
            meeting = names.meet(topic, pattern) if is_wild else topic
            if publisher is not None and not self._authorize(publisher, Action.PUBLISH, meeting):
                continue
            for session, subscription in subscribers.items():
                key = (session.principal, meeting)
                allowed = decisions.get(key)
                if allowed is None:
                    allowed = decisions[key] = self._authorize(session.principal, Action.SUBSCRIBE, meeting)
                if allowed:
                    found.setdefault(session, []).append(subscription)
        return self._shared(found)

    def may_meet(self, topic: bytes, pattern: bytes) -> bool:
        """Whether a message of this topic may reach an equivalent subscription, as far as ``$`` goes: a wildcard topic
        never reaches a service topic (reading 42), and a service topic reaches a pattern that begins with a star
        unless that is switched off (reading 41)."""
        if names.is_service(topic):
            return self._wildcards_reach_service or names.is_service(pattern)
        return not names.is_service(pattern)

    def _shared(self, found: Mapping[Session, Sequence[Subscription]]) -> Targets:
        """The one `Targets` object for these receivers, one entry a client (reading 14)."""
        if not found:
            return NOBODY
        if len(found) == 1:
            return _sole(*next(iter(found.items())))
        entries = tuple([(s.outbox, _matched(s, found[s])) for s in sorted(found, key=_number)])
        targets = self._targets.get(entries)
        if targets is None:
            targets = self._targets[entries] = Targets(entries)
        return targets


def _sole(session: Session, subscriptions: Sequence[Subscription]) -> Targets:
    """The targets of what only one client receives."""
    matched = _matched(session, subscriptions)
    return Targets(((session.outbox, matched),)) if matched else session.targets


def _number(session: Session) -> int:
    return session.number


def _matched(session: Session, subscriptions: Sequence[Subscription]) -> tuple[Subscription, ...]:
    """What a target's entry says of the subscriptions that fit.

    For a blind peer: nothing, so that many routes share their targets; unless one subscription asks for an overflow
    policy of its own.
    """
    if not session.is_blind:
        return tuple(subscriptions)
    for subscription in subscriptions:
        if subscription.overflow is not session.overflow:
            return (subscription,)
    return ()
