"""The router: one bus as a Twisted service. Wires the tables together; see docs/life-of-a-message.md for the way
through.

It decides, and only then acts: while subscriptions and rights are looked at, no peer is called. Peers are called in
`flush`, with as much at a time as gathered for them and may be on its way. Long as the interface is: what is about
topics is here, and for the rest each table has a part of its own (queues, calls, schedules, rights) which it only hands
on to.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import islice
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from fmqbus import names
from fmqbus.calls import DEFAULT_METHOD_SETTINGS, MethodSettings, MethodStatus
from fmqbus.errors import Overloaded, Refused, StoreFailed
from fmqbus.interfaces import (
    IAuthorizer,
    IMessageStore,
    IObserver,
    IPeer,
    IRetainedStore,
    IRouter,
    IScheduleStore,
    IServiceTopic,
    StopCallback,
)
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import (
    DEFAULT_QUEUE_SETTINGS,
    Action,
    Interest,
    Message,
    Overflow,
    Principal,
    Publication,
    QueueSettings,
    QueueStatus,
    SessionStatus,
    StoredMessage,
    Subscription,
    Targets,
)
from fmqbus.router.busiest import busiest
from fmqbus.router.calls import Calls
from fmqbus.router.drain import Drain
from fmqbus.router.figures import make_vitals
from fmqbus.router.interest import InterestTable
from fmqbus.router.outbox import Outbox
from fmqbus.router.queues import Queues
from fmqbus.router.recovery import Recovery
from fmqbus.router.rights import Rights
from fmqbus.router.routes import RouteTable, Subscribers
from fmqbus.router.scheduling import Scheduling
from fmqbus.router.service_topics import ServiceTopics
from fmqbus.router.session import Session
from fmqbus.router.statistics import Traffic
from fmqbus.schedules.errands import DEFAULT_SCHEDULE_SETTINGS, ScheduleSettings
from fmqbus.turns import Turns

_log = Logger()


@implementer(IRouter)
class Router(Service):
    """See `IRouter`."""

    name = "router"

    def __init__(
        self,
        clock: IReactorTime,
        authorizers: Sequence[IAuthorizer],
        retained: IRetainedStore,
        limits: Limits = DEFAULT_LIMITS,
        overflow: Overflow = Overflow.DROP_OLDEST,
        overflow_rules: Sequence[tuple[bytes, Overflow]] = (),
        observers: Sequence[IObserver] = (),
        service_topics: Sequence[IServiceTopic] = (),
        stop: StopCallback | None = None,
        wildcards_reach_service: bool = True,
        message_store: IMessageStore | None = None,
        queue_settings: QueueSettings = DEFAULT_QUEUE_SETTINGS,
        queue_rules: Sequence[tuple[bytes, QueueSettings]] = (),
        method_settings: MethodSettings = DEFAULT_METHOD_SETTINGS,
        method_rules: Sequence[tuple[bytes, MethodSettings]] = (),
        schedule_store: IScheduleStore | None = None,
        schedule_settings: ScheduleSettings = DEFAULT_SCHEDULE_SETTINGS,
        wall: Callable[[], float] = time.time,
        as_of_now: Callable[[Principal], Principal | None] | None = None,
    ) -> None:
        """Make a bus.

        `overflow` is for subscriptions that ask for none and that no rule fits; of `overflow_rules`, the first whose
        pattern is equivalent to the subscription's decides. `stop` is what service topics may ask of the process;
        None means that they cannot. `wildcards_reach_service` False hides ``$`` from patterns that begin with a
        star (reading 41).

        Without a `message_store`, queues are in memory only; likewise schedules without a `schedule_store`. Of
        `queue_rules`, the first whose pattern is equivalent to a queue's name decides on its settings, else
        `queue_settings` do; likewise for methods. `wall` tells the time in POSIX seconds. `as_of_now` tells what has
        become of a principal who is acted for when it is not there, by wills and schedules; None if it may nothing.
        """
        self.clock = clock
        self.limits = limits
        self.overflow = overflow
        self.retained = retained
        self.observers = list(observers)
        self.turns = Turns(clock)
        self.as_of_now = as_of_now or (lambda principal: principal)
        self._rights = Rights(authorizers, limits.cached_decisions)
        self.table = RouteTable(limits, self.authorize, wildcards_reach_service)
        self.interest = InterestTable(self.table, self.authorize, limits)
        self.service_topics = ServiceTopics(self, service_topics, stop)
        #: See `halt`.
        self.has_halted = False
        #: Outboxes with something ready for the end of the turn.
        self.dirty: list[Outbox] = []
        #: Sessions to end at the end of the turn, and why: an end in the midst of a decision would disturb it.
        self.ending: dict[Session, str] = {}
        self.queuing = Queues(self, wall, message_store, queue_settings, queue_rules)
        self.calling = Calls(self, method_settings, method_rules)
        self.scheduling = Scheduling(self, wall, schedule_store, schedule_settings)
        self._overflow_rules = list(overflow_rules)
        self._sessions: dict[int, Session] = {}
        self._connected: Counter[str] = Counter()
        self._detached: dict[str, tuple[Session, Any]] = {}
        self._traffic: dict[str, Traffic] = {}
        self._subscriptions = 0
        self._next_number = 0
        self._recovery = Recovery()
        self._drain = Drain(self)
        self.vitals = make_vitals(self)

    # service

    def startService(self) -> None:
        super().startService()
        self.service_topics.start()
        self._recovery.begin(self._recover())

    @inlineCallbacks
    def _recover(self) -> Generator[Deferred[None], Any, None]:
        yield self.retained.recover()
        yield self.queuing.recover()
        yield self.scheduling.recover()

    def when_recovered(self) -> Deferred[None]:
        return self._recovery.when_over()

    def stopService(self) -> Deferred[None]:
        super().stopService()
        self.service_topics.stop()
        return self.drain().addCallback(lambda _: self._close_stores())

    @inlineCallbacks
    def _close_stores(self) -> Generator[Deferred[None], Any, None]:
        for part in (self.scheduling, self.queuing, self.retained):
            yield part.close()

    # sessions

    def attach(self, peer: IPeer, principal: Principal) -> Session:
        self._refuse_while_draining()
        self._next_number += 1
        session = Session(self, self._next_number, peer, principal, self.traffic_of(principal.protocol))
        self._sessions[session.number] = session
        self._connected[principal.protocol] += 1
        self.tell("session_opened", session)
        self.service_topics.clients_changed()
        return session

    def resume(self, token: str, peer: IPeer, principal: Principal) -> Session:
        self._refuse_while_draining()
        session, _ = self._detached.get(token, (None, None))
        if session is None or session.principal != principal:
            raise Refused("no such session")
        self._forget_detached(session)
        session.take_link(peer)
        return session

    def keep_detached(self, session: Session, keep_seconds: float) -> str:
        """Remember a session whose link has gone; returns the token that brings it back."""
        if len(self._detached) >= self.limits.detached_sessions:
            raise Overloaded("too many detached sessions")
        token = session.token = secrets.token_urlsafe(24)
        self._detached[token] = (session, self.clock.callLater(keep_seconds, session.close, "expired"))
        return token

    def _forget_detached(self, session: Session) -> None:
        """The session, if it was detached, is so no longer."""
        if session.token is not None:
            _, expiry = self._detached.pop(session.token)
            session.token = None
            if expiry.active():
                expiry.cancel()

    def session_closed(self, session: Session, reason: str) -> None:
        """The session's subscriptions have ended and its wills are published."""
        self._forget_detached(session)
        del self._sessions[session.number]
        self._connected[session.principal.protocol] -= 1
        self.service_topics.clients_changed()
        self.tell("session_closed", session, reason)

    def sessions(self) -> Sequence[Session]:
        return tuple(self._sessions.values())

    def connected(self, protocol: str) -> int:
        """How many sessions of this protocol there are, detached ones included."""
        return self._connected[protocol]

    # subscriptions

    def check_room_for_subscription(self) -> None:
        """Raises `Overloaded` if the bus has as many subscriptions as it may."""
        if self._subscriptions >= self.limits.subscriptions:
            raise Overloaded("too many subscriptions")

    @property
    def subscriptions(self) -> int:
        """How many subscriptions there are, hidden ones included."""
        return self._subscriptions

    def overflow_of(self, pattern: bytes) -> Overflow:
        """The configured policy for a subscription to this pattern."""
        return names.first_fit(self._overflow_rules, pattern, self.overflow)

    def retained_for(self, pattern: bytes) -> list[Message]:
        """The retained values that fit a pattern, those of service topics first, whoever may read them. Raises
        `Overloaded`."""
        return [*self.service_topics.matching(pattern), *self.retained.matching(pattern)]

    def may_replay(self, principal: Principal, value: Message, pattern: bytes) -> bool:
        """Whether a retained value is still what it was and may be told to a subscriber of this pattern."""
        topic = value.topic
        current = self.service_topics.get(topic) if names.is_service(topic) else self.retained.get(topic)
        return (
            current == value
            and self.table.may_meet(topic, pattern)
            and self.authorize(principal, Action.SUBSCRIBE, names.meet(topic, pattern))
        )

    def add_subscription(self, session: Session, subscription: Subscription, former: Subscription | None) -> None:
        """The session has subscribed, in place of a former subscription to the same pattern if it had one."""
        pattern = subscription.pattern
        index = self.table.subscriptions
        subscribers = index.get(pattern)
        if subscribers is None:
            subscribers = Subscribers()
            index.set(pattern, subscribers)
        subscribers[session] = subscription
        self._subscriptions += former is None
        if former is None or not session.is_blind or former.overflow is not subscription.overflow:
            self.table.changed(pattern)
        was_visible = former is not None and not former.hidden
        if was_visible is subscription.hidden:
            subscribers.visible += -1 if was_visible else 1
            self._tell_interest(session, Interest(pattern, subscribers.visible))

    def remove_subscription(self, session: Session, subscription: Subscription) -> None:
        """The session has unsubscribed, or has closed."""
        pattern = subscription.pattern
        subscribers = self.table.subscriptions.get(pattern)
        assert subscribers is not None, "a session's subscriptions are in the index"
        del subscribers[session]
        if not subscribers:
            self.table.subscriptions.discard(pattern)
        self._subscriptions -= 1
        self.table.changed(pattern)
        if not subscription.hidden:
            subscribers.visible -= 1
            self._tell_interest(session, Interest(pattern, subscribers.visible))

    def _tell_interest(self, session: Session, interest: Interest) -> None:
        for watcher in self.interest.watchers_of(interest.pattern):
            watcher.outbox.put(interest, (), session)
        self.tell("interest_changed", interest)

    # queues

    def queues(self, after: bytes = b"", most: int | None = None) -> Sequence[QueueStatus]:
        return self.queuing.table.statuses(after, most)

    def queue(self, name: bytes) -> QueueStatus | None:
        queue = self.queuing.table.find(name)
        return None if queue is None else queue.status()

    def queue_settings(self, name: bytes) -> QueueSettings:
        return self.queuing.table.settings_of(name)

    def peek(self, queue: bytes, most: int, held: bool = False) -> Sequence[StoredMessage]:
        found = self.queuing.table.find(queue)
        if found is None:
            return ()
        return list(islice(found.held(), most)) if held else found.peek(most)

    def find(self, queue: bytes, numbers: Sequence[int]) -> Sequence[StoredMessage]:
        found = self.queuing.table.find(queue)
        return () if found is None else found.find(numbers)

    def search(self, queue: bytes, properties: Mapping[str, str], most: int) -> Deferred[Sequence[StoredMessage]]:
        return self.queuing.search(queue, properties, most)

    def purge(self, queue: bytes, numbers: Sequence[int] | None = None) -> Deferred[int]:
        return self.queuing.purge(queue, numbers)

    def requeue(
        self, dead_letters: bytes, most: int | None = None, numbers: Sequence[int] | None = None
    ) -> Deferred[int]:
        return self.queuing.requeue(dead_letters, most, numbers)

    @property
    def store_failure(self) -> StoreFailed | None:
        return self.queuing.store_failure

    # calls

    def methods(self, after: bytes = b"", most: int | None = None) -> Sequence[MethodStatus]:
        return self.calling.methods.statuses(after, most)

    # publications

    def flush(self, source: Session | None) -> None:
        """Hand over what is ready in all outboxes. A peer that raises is reported and cut off; others are unharmed."""
        if self.has_halted:
            self.dirty.clear()
        else:
            self.queuing.flush()
            self.calling.flush()
            for outbox in self.dirty:
                # calls that one cannot hand over may go to another, which is then dirty too, or may end
                outbox.flush(source)
            self.dirty.clear()
            self.calling.flush()
        while self.ending:
            session = next(iter(self.ending))
            session.kick(self.ending.pop(session))

    def publish_service(self, message: Message) -> None:
        if message.retain:
            self.service_topics.remember(message)
        self.hand_out(message, self.table.targets_of(message.topic, None))
        self.flush(None)

    def hand_out(self, message: Message, targets: Targets) -> None:
        """Publish what no client publishes now."""
        publication = Publication.of(message, targets)
        for receiver, matched in publication.targets.entries:
            receiver.put(publication, matched, None)
        self.tell("published", None, publication)

    def count_dropped(self, session: Session, publication: Publication, reason: str) -> None:
        """An outbox let messages go: count them for their topics too."""
        if publication.route is not None:
            publication.route.dropped += publication.count
        else:
            for message in publication.messages:
                route = self.table.routes.get(message.topic)
                if route is not None:
                    route.dropped += 1
        self.tell("dropped", session, publication, reason)

    # accounts

    @property
    def statistics(self) -> Traffic:
        """Totals of all protocols since the router was made."""
        total = Traffic()
        for traffic in self._traffic.values():
            total.add(traffic)
        return total

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """Totals of each protocol that a client has come by."""
        return self._traffic

    @property
    def opened(self) -> int:
        """How many sessions there have been."""
        return self._next_number

    @property
    def detached(self) -> int:
        """How many sessions are waiting for their clients to come back."""
        return len(self._detached)

    def busiest(self, most: int) -> Deferred[tuple[Sequence[SessionStatus], Sequence[QueueStatus]]]:
        return busiest(self, most)

    def traffic_of(self, protocol: str) -> Traffic:
        """Totals of one protocol."""
        return self._traffic.setdefault(protocol, Traffic())

    # rights

    def authorize(self, principal: Principal, action: Action, name: bytes) -> bool:
        return self._rights.allow(principal, action, name)

    def policy_changed(self) -> None:
        self._rights.forget()
        self.look_again(self.sessions())

    def look_again(self, sessions: Sequence[Session]) -> None:
        """Forget every cached decision; what these have and are no longer allowed ends, and they are told."""
        self.table.forget()
        ended: list[tuple[Session, str, object]] = []
        for session in sessions:
            ended += [(session, "subscription_ended", subscription) for subscription in session.end_forbidden()]
            ended += [(session, "consumer_ended", consumer) for consumer in session.end_forbidden_consumers()]
            ended += [(session, "service_ended", service) for service in session.end_forbidden_services()]
        for session, word, what in ended:
            session.tell_peer(word, what, "policy")
        self.flush(None)

    # the end

    def drain(self) -> Deferred[None]:
        return self._drain.begin()

    @property
    def unready(self) -> str | None:
        """Why clients had better not come now, in words; None if they may."""
        return "the bus is draining" if self._drain.has_begun or self.has_halted else self._recovery.shortfall

    def halt(self) -> None:
        self.has_halted = True

    def _refuse_while_draining(self) -> None:
        if self._drain.has_begun:
            raise Refused("the bus is draining")

    def tell(self, method: str, *arguments: object) -> None:
        """Tell all observers. One that raises is reported, and told no more."""
        for observer in list(self.observers):
            try:
                getattr(observer, method)(*arguments)
            except Exception:
                _log.failure("observer {observer} failed and is removed", observer=observer)
                self.observers.remove(observer)
