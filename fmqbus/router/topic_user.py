"""One client's dealings with topics: its subscriptions, its watches, and what it is still to be told of both. Made for
those that have any."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from fmqbus import names
from fmqbus.errors import Overloaded
from fmqbus.model import Action, Interest, Message, Overflow, Publication, Subscription
from fmqbus.router.replays import Replays

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session


class TopicUser:
    """See `ISession`, which has the same words."""

    __slots__ = ("_replays", "_router", "_session", "_wildcards", "subscriptions", "watches")

    def __init__(self, session: Session, router: Router) -> None:
        self._session = session
        self._router = router
        self._wildcards = 0
        self._replays: Replays | None = None
        #: By pattern. Not to be changed by others.
        self.subscriptions: dict[bytes, Subscription] = {}
        #: The patterns whose interest this client watches. Not to be changed by others.
        self.watches: dict[bytes, None] = {}

    def subscribe(self, pattern: bytes, hidden: bool, overflow: Overflow | None, tag: Any) -> Subscription:
        """See `ISession.subscribe`."""
        self._session.demand(Action.SUBSCRIBE, pattern)
        former = self.subscriptions.get(pattern)
        is_wild = names.is_wild(pattern)
        if former is None:
            self._router.check_room_for_subscription()
            limits = self._router.limits
            if len(self.subscriptions) >= limits.subscriptions_per_peer or (
                is_wild and self._wildcards >= limits.wildcards_per_peer
            ):
                raise Overloaded("too many subscriptions of one client")
        subscription = Subscription(pattern, hidden, overflow or self._router.overflow_of(pattern), tag)
        retained = self._router.retained_for(pattern)
        if retained:
            self._all_replays().check_room_for(pattern, len(retained))
        self.subscriptions[pattern] = subscription
        self._wildcards += is_wild and former is None
        self._router.add_subscription(self._session, subscription, former)
        if retained:
            self._all_replays().begin(pattern, retained, partial(self._retained_now, subscription))
        return subscription

    def _retained_now(
        self, subscription: Subscription, message: Message
    ) -> tuple[Publication, tuple[Subscription, ...]] | None:
        is_current = self.subscriptions.get(subscription.pattern) is subscription
        if is_current and self._router.may_replay(self._session.principal, message, subscription.pattern):
            return Publication.of(message), (subscription,)
        return None

    def unsubscribe(self, pattern: bytes) -> bool:
        """See `ISession.unsubscribe`."""
        subscription = self.subscriptions.pop(pattern, None)
        if subscription is None:
            return False
        self._wildcards -= names.is_wild(pattern)
        self._router.remove_subscription(self._session, subscription)
        return True

    def watch(self, pattern: bytes) -> None:
        """See `ISession.watch_interest`."""
        self._session.demand(Action.WATCH, pattern)
        if pattern not in self.watches and len(self.watches) >= self._router.limits.watches_per_peer:
            raise Overloaded("too many watches of one client")
        present = self._router.interest.of(pattern)
        if present:
            self._all_replays().check_room_for((pattern,), len(present))
        self._router.interest.watch(self._session, pattern)
        self.watches[pattern] = None
        if present:
            self._all_replays().begin((pattern,), present, partial(self._interest_now, pattern))

    def _interest_now(self, watched: bytes, pattern: bytes) -> tuple[Interest, tuple[()]] | None:
        interest = self._router.interest.seen_by(self._session, watched, pattern)
        return (interest, ()) if interest is not None and watched in self.watches else None

    def unwatch(self, pattern: bytes) -> bool:
        """See `ISession.unwatch_interest`."""
        if pattern not in self.watches:
            return False
        del self.watches[pattern]
        self._router.interest.unwatch(self._session, pattern)
        return True

    def _all_replays(self) -> Replays:
        if self._replays is None:
            self._replays = Replays(self._router, self._session)
        return self._replays

    def link_cleared(self) -> None:
        """The client's link takes data (again)."""
        if self._replays is not None:
            self._replays.go_on()

    def forget_replays(self) -> None:
        """The client has gone: it is told nothing more."""
        if self._replays is not None:
            self._replays.clear()

    def end_forbidden(self) -> list[Subscription]:
        """End the subscriptions and watches that the authorizer no longer allows; returns those subscriptions."""
        principal = self._session.principal
        ended = [
            subscription
            for pattern, subscription in self.subscriptions.items()
            if not self._router.authorize(principal, Action.SUBSCRIBE, pattern)
        ]
        for subscription in ended:
            self.unsubscribe(subscription.pattern)
        for pattern in list(self.watches):
            if not self._router.authorize(principal, Action.WATCH, pattern):
                self.unwatch(pattern)
        return ended

    def close(self) -> Iterator[None]:
        """End all of them, a step each: there may be very many."""
        for pattern in list(self.subscriptions):
            self.unsubscribe(pattern)
            yield
        for pattern in list(self.watches):
            self.unwatch(pattern)
            yield
