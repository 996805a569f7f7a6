"""One client on the bus: what it subscribed, watches and wills, and the outbox of what is on its way to it.

This is `ISession`, the side of the bus that a protocol sees. It decides nothing alone: names, rights and limits are
checked here, the rest is asked of the router's tables. It is long because the interface is: most of its methods only
hand on, to what the client has as a user of topics, of queues, of calls, each made when first needed. The life of a
session:

1. The router makes it when a protocol attaches a peer.
2. It acts for the client until the link goes.
3. If the protocol detaches it, it lives on without a peer: subscriptions stay, deliveries gather in the outbox, and
   `IRouter.resume` gives it a new peer.
4. It closes once, whatever ended it: calls that it was to answer fail, subscriptions end (and interest falls), what
   its consumers held goes back to the queues, wills are published, then the number of clients is told (reading 32).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from zope.interface import implementer

from fmqbus import names
from fmqbus.calls import Call, Parcel, Service
from fmqbus.errors import BusError, CallFailed, Detached, InvalidName, Refused
from fmqbus.interfaces import IPeer, ISession
from fmqbus.model import (
    NOBODY,
    PLAIN_TERMS,
    SINGLY,
    SINGLY_ROUTE,
    WHOLE_BATCH,
    Action,
    BatchPart,
    Consumer,
    Credit,
    Message,
    Outcome,
    Overflow,
    Principal,
    Publication,
    SessionStatus,
    Subscription,
    Targets,
    Terms,
)
from fmqbus.router.asked import Asked
from fmqbus.router.call_user import CallUser
from fmqbus.router.outbox import Outbox
from fmqbus.router.queue_user import QueueUser
from fmqbus.router.statistics import Traffic
from fmqbus.router.topic_user import TopicUser
from fmqbus.router.wills import Wills
from fmqbus.schedules.errands import Errand
from fmqbus.schedules.table import Missed
from fmqbus.schedules.timing import Timing
from fmqbus.waiting import Waiters

if TYPE_CHECKING:
    from fmqbus.router.service import Router

_log = Logger()


@implementer(ISession)
class Session:
    """See `ISession`."""

    __slots__ = (
        "__weakref__",
        "_call_user",
        "_closings",
        "_holds",
        "_queue_user",
        "_router",
        "_topic_user",
        "_totals",
        "_wills",
        "has_closed",
        "is_blind",
        "number",
        "outbox",
        "overflow",
        "peer",
        "principal",
        "routes",
        "statistics",
        "targets",
        "token",
    )

    def __init__(self, router: Router, number: int, peer: IPeer, principal: Principal, totals: Traffic) -> None:
        self._router = router
        #: Rises with each session of this router; also the order of receivers of one publication.
        self.number = number
        self.peer: IPeer | None = peer
        self.is_blind: bool = peer.is_blind
        self.principal = principal
        self.routes = router.table.cache_of(principal)
        self.statistics = Traffic()
        self.overflow = router.overflow
        self.outbox = Outbox(self, router.limits.outbox_octets, router.dirty)
        #: This session's client alone, and no word about which of its subscriptions matched.
        self.targets = Targets(((self.outbox, ()),))
        self.has_closed = False
        #: What brings a detached session back; None while it is not detached.
        self.token: str | None = None
        self._totals = totals
        self._holds = 0
        # made when first needed: most clients have few of these, and 10,000 idle ones should cost little
        self._wills: Wills | None = None
        self._closings: Waiters | None = None
        self._topic_user: TopicUser | None = None
        self._queue_user: QueueUser | None = None
        self._call_user: CallUser | None = None

    def __repr__(self) -> str:
        return f"<Session {self.number} {self.principal.protocol} {self.principal.facts.address or 'local'}>"

    @property
    def subscriptions(self) -> dict[bytes, Subscription]:
        """This client's subscriptions by pattern; a copy."""
        return dict(self._topic_user.subscriptions) if self._topic_user is not None else {}

    @property
    def watches(self) -> dict[bytes, None] | None:
        """The patterns whose interest this client watches; None or empty if there are none. Not to be changed."""
        return None if self._topic_user is None else self._topic_user.watches

    # publishing

    def dispatch(self, publication: Publication) -> None:
        for receiver, matched in publication.targets.entries:
            receiver.put(publication, matched, self)
        if self._router.observers:
            self._router.tell("published", self, publication)

    def publish(self, message: Message) -> None:
        self._check_open()
        self._publish(message)

    def publish_later(self, message: Message) -> None:
        """As `publish`, for what the client has said before; it may have gone since."""
        self._publish(message)

    def _publish(self, message: Message) -> None:
        topic = message.topic
        if names.is_service(topic):
            self._router.service_topics.received(self, message)
            return
        route = self.routes[topic]
        targets = route.targets or route.rematch()
        if targets is SINGLY:
            # a wildcard topic, or one that the authorizer refuses: nothing is remembered of either
            self.demand(Action.PUBLISH, topic)
            targets = self._router.table.targets_of(topic, self.principal)
        if message.retain:
            self._retain(message)
        if message.payload or not message.retain:
            route.messages += 1
            route.octets += len(topic) + len(message.payload)
            self.dispatch(Publication.of(message, targets, None if route is SINGLY_ROUTE else route))

    def _retain(self, message: Message) -> None:
        self.demand(Action.RETAIN, message.topic)
        if message.payload:
            self._router.retained.put(message)
        else:
            self._router.retained.remove(message.topic)

    # subscribing

    def subscribe(
        self, pattern: bytes, hidden: bool = False, overflow: Overflow | None = None, tag: Any = None
    ) -> Subscription:
        return self._as_topic_user().subscribe(pattern, hidden, overflow, tag)

    def unsubscribe(self, pattern: bytes) -> bool:
        self._check_open()
        return self._topic_user is not None and self._topic_user.unsubscribe(pattern)

    def watch_interest(self, pattern: bytes) -> None:
        self._as_topic_user().watch(pattern)

    def unwatch_interest(self, pattern: bytes) -> bool:
        self._check_open()
        return self._topic_user is not None and self._topic_user.unwatch(pattern)

    def _as_topic_user(self) -> TopicUser:
        self._check_open()
        if self._topic_user is None:
            self._topic_user = TopicUser(self, self._router)
        return self._topic_user

    def end_forbidden(self) -> list[Subscription]:
        """End the subscriptions and watches that the authorizer no longer allows; returns those subscriptions."""
        return [] if self._topic_user is None else self._topic_user.end_forbidden()

    # wills

    def set_will(self, message: Message) -> None:
        self._check_open()
        if not message.payload:
            if self._wills is not None:
                self._wills.remove(message.topic)
            return
        self._demand_will(message)
        if self._wills is None:
            self._wills = Wills()
        self._wills.set(message, self._router.limits)

    def _demand_will(self, message: Message) -> None:
        """What it takes to publish it has to be allowed now as well."""
        self.demand(Action.WILL, message.topic)
        self.demand(Action.CONTROL if names.is_service(message.topic) else Action.PUBLISH, message.topic)
        if message.retain:
            self.demand(Action.RETAIN, message.topic)

    def fire_wills(self) -> Iterator[None]:
        """Publish the wills, a step each, in the order their topics were first set, and have none any more. Rights are
        asked again, of the client as it is known by now: they may have been lost since (threats, row 15)."""
        wills = self._wills.take() if self._wills is not None else ()
        present = self._router.as_of_now(self.principal) if wills else self.principal
        if present is not None and present != self.principal:
            self.principal = present
            self.routes = self._router.table.cache_of(present)
        for will in wills:
            try:
                if present is None:
                    raise Refused("there is no such user any more", "revoked")
                self.demand(Action.WILL, will.topic)
                self._publish(will)
            except BusError as error:
                self.count_refused(error.reason)
            except Exception:
                _log.failure("a will of {session} could not be published", session=self)
                self.count_refused("failed")
            yield

    # queues

    def enqueue(self, queue: bytes, message: Message, terms: Terms = PLAIN_TERMS) -> Deferred[None] | None:
        return self._as_queue_user().enqueue(queue, message, terms)

    def consume(
        self,
        queue: bytes,
        window: int,
        weight: int = 1,
        tag: Any = None,
        *,
        priority: int = 0,
        credit: Credit | None = None,
    ) -> Consumer:
        return self._as_queue_user().consume(queue, window, weight, tag, priority, credit)

    def put_batch(
        self, producer: str, number: int, errands: Sequence[Errand], part: BatchPart = WHOLE_BATCH
    ) -> Deferred[bool]:
        return self._as_queue_user().put_batch(producer, number, errands, part)

    def set_window(self, consumer: Consumer, window: int) -> None:
        if self._queue_user is not None:
            self._queue_user.set_window(consumer, window)

    def set_credit(self, credit: Credit, messages: int) -> None:
        if self._queue_user is not None:
            self._queue_user.set_credit(credit, messages)

    def settle(self, consumer: Consumer, numbers: Sequence[int], outcome: Outcome, reason: str = "") -> int:
        return 0 if self._queue_user is None else self._queue_user.settle(consumer, numbers, outcome, reason)

    def give_back(self, consumer: Consumer, numbers: Sequence[int]) -> int:
        return 0 if self._queue_user is None else self._queue_user.give_back(consumer, numbers)

    def cancel(self, consumer: Consumer) -> None:
        if self._queue_user is not None:
            self._queue_user.cancel(consumer)

    def _as_queue_user(self) -> QueueUser:
        self._check_open()
        if self._queue_user is None:
            self._queue_user = QueueUser(self, self._router)
        return self._queue_user

    def end_forbidden_consumers(self) -> list[Consumer]:
        """End the consumers that the authorizer no longer allows; returns them."""
        return [] if self._queue_user is None else self._queue_user.end_forbidden()

    def end_consumer(self, consumer: Consumer) -> None:
        """End one that may not have what comes next."""
        self.cancel(consumer)
        self.tell_peer("consumer_ended", consumer, "policy")

    # schedules

    def schedule(
        self,
        key: str,
        timing: Timing,
        errand: Errand,
        at_once: bool = True,
        runs: int | None = None,
        missed: Missed | None = None,
    ) -> Deferred[None] | None:
        self._check_open()
        return self._router.scheduling.put(self.principal, key, timing, errand, at_once, runs, missed)

    def unschedule(self, key: str) -> Deferred[bool]:
        self._check_open()
        return self._router.scheduling.unschedule(self.principal, key)

    # calls

    def call(self, method: bytes, parcel: Parcel, deadline_seconds: float | None = None, tag: Any = None) -> Call:
        return self._as_call_user().call(method, parcel, deadline_seconds, tag)

    def abandon(self, call: Call) -> None:
        if self._call_user is not None:
            self._call_user.abandon(call)

    def serve(self, method: bytes, window: int, weight: int = 1, tag: Any = None) -> Service:
        return self._as_call_user().serve(method, window, weight, tag)

    def unserve(self, service: Service) -> None:
        if self._call_user is not None:
            self._call_user.unserve(service)

    def reply(self, call: Call, parcel: Parcel) -> bool:
        return self._call_user is not None and self._call_user.answer(call, parcel)

    def fail(self, call: Call, code: int, text: str) -> bool:
        return self._call_user is not None and self._call_user.answer(call, CallFailed(text, code))

    def _as_call_user(self) -> CallUser:
        self._check_open()
        if self._call_user is None:
            self._call_user = CallUser(self, self._router)
        return self._call_user

    def hand_calls(self, calls: Sequence[Asked]) -> bool:
        """The outbox hands over calls. False if the peer cannot take them."""
        assert self._call_user is not None, "calls come to those who serve"
        return self._call_user.hand_over(calls)

    def return_call(self, call: Asked) -> None:
        """The outbox cannot hand over a call."""
        assert self._call_user is not None, "calls come to those who serve"
        self._call_user.find_another(call)

    def break_off_calls(self, reason: str, detail: str) -> None:
        """All that the client has asked ends."""
        if self._call_user is not None:
            self._call_user.break_off(reason, detail)

    def end_forbidden_services(self) -> list[Service]:
        """End the services that the authorizer no longer allows, and the calls that nobody has yet; returns those
        services."""
        return [] if self._call_user is None else self._call_user.end_forbidden()

    def become(self, principal: Principal) -> None:
        self._check_open()
        self.principal = principal
        self.routes = self._router.table.cache_of(principal)
        # one that has asked for nothing yet is in nobody's way, and logins must not cost others their routes
        if self._topic_user or self._queue_user or self._call_user:
            self._router.look_again((self,))

    # the link

    def pause_delivery(self) -> None:
        self.outbox.pause()

    def resume_delivery(self) -> None:
        if self.peer is not None:
            self._router.turns.go_through(self.outbox.resume(), self._delivery_resumed)

    def _delivery_resumed(self) -> None:
        if self._topic_user is not None:
            self._topic_user.link_cleared()
        if self.outbox.is_open:
            if self._queue_user is not None:
                self._queue_user.link_cleared()
            if self._call_user is not None:
                self._call_user.look_at_services()
        self._router.flush(self)

    def when_delivered(self) -> Deferred[None]:
        return self.outbox.when_empty()

    def flush(self) -> None:
        self._router.flush(self)

    def hold_reading(self) -> None:
        self._holds += 1
        if self._holds == 1:
            self.tell_peer("pause_reading")

    def release_reading(self) -> None:
        self._holds -= 1
        if self._holds == 0:
            self.tell_peer("resume_reading")

    def tell_peer(self, method: str, *arguments: object) -> bool:
        """Ask something of the peer; False if there is none, or it raised, which is reported and ends it soon."""
        if self.peer is None:
            return False
        try:
            getattr(self.peer, method)(*arguments)
        except Exception:
            _log.failure("peer of {session} failed in {method}", session=self, method=method)
            self.end_soon("failed")
            return False
        return True

    def end_soon(self, reason: str) -> None:
        """End the client by its link once the turn is over."""
        self._router.ending.setdefault(self, reason)

    def kick(self, reason: str) -> None:
        """End the client at once, by its link if it has one. Nothing more is delivered."""
        self.outbox.close()
        if not self.tell_peer("abort", reason):
            self.close(reason)

    def detach(self, keep_seconds: float) -> str:
        self._check_open()
        if self.peer is None or self.outbox.is_closed:
            raise Detached("there is no link to come back from")
        token = self._router.keep_detached(self, keep_seconds)
        self.peer = None
        self.outbox.pause()
        return token

    def take_link(self, peer: IPeer) -> None:
        """The client has returned. What held its old link holds the new one."""
        self.peer = peer
        if self._holds:
            self.tell_peer("pause_reading")

    def close(self, reason: str) -> None:
        if self.has_closed:
            return
        self.has_closed = True
        self.peer = None
        self.outbox.close()
        if self._topic_user is not None:
            self._topic_user.forget_replays()
        self._router.turns.go_through(self._end(reason), lambda: self._router.flush(None))

    def _end(self, reason: str) -> Iterator[None]:
        """The steps of step 4 above: there may be very many, and many clients may go together."""
        yield
        if self._call_user is not None:
            yield from self._call_user.close()
        if self._topic_user is not None:
            yield from self._topic_user.close()
        if self._queue_user is not None:
            self._queue_user.close()
            yield
        if not self._router.has_halted:
            yield from self.fire_wills()
        self._router.session_closed(self, reason)
        if self._closings is not None:
            self._closings.fire()
        self._let_go()

    def _let_go(self) -> None:
        """Leave no circles: what is in one stays until garbage is collected, and that takes a large bus a second."""
        self.targets = NOBODY
        self._topic_user = self._queue_user = self._call_user = None
        del self.outbox.session

    def when_closed(self) -> Deferred[None]:
        """A new Deferred for each caller, fired when the session has closed."""
        if self.has_closed:
            return succeed(None)
        if self._closings is None:
            self._closings = Waiters()
        return self._closings.wait()

    # accounts

    @property
    def is_slow(self) -> bool:
        """Its link takes no data now, or something waits for it."""
        return not self.outbox.takes_data or self.outbox.kept_octets > 0

    def status(self) -> SessionStatus:
        traffic = self.statistics
        return SessionStatus(
            number=self.number,
            principal=self.principal,
            is_detached=self.token is not None,
            subscriptions=len(self._topic_user.subscriptions) if self._topic_user is not None else 0,
            messages_in=traffic.messages_in,
            messages_out=traffic.messages_out,
            octets_in=traffic.octets_in,
            octets_out=traffic.octets_out,
            lost=sum(traffic.losses.values()),
            refused=sum(traffic.refusals.values()),
            kept_octets=self.outbox.kept_octets,
            is_slow=self.is_slow,
        )

    def count_received(self, messages: int, octets: int) -> None:
        """The protocol read this many well-formed units and octets from the client."""
        for traffic in (self.statistics, self._totals):
            traffic.messages_in += messages
            traffic.octets_in += octets

    def count_sent(self, messages: int, octets: int) -> None:
        """The protocol wrote this many publications and octets to the client's link."""
        for traffic in (self.statistics, self._totals):
            traffic.messages_out += messages
            traffic.octets_out += octets

    def count_refused(self, reason: str) -> None:
        """Something that the client said was discarded."""
        self.statistics.refuse(reason)
        self._totals.refuse(reason)

    def count_dropped(self, publication: Publication, reason: str) -> None:
        """The outbox let these messages go."""
        self.statistics.lose(reason, publication.count)
        self._totals.lose(reason, publication.count)
        self._router.count_dropped(self, publication, reason)

    def _check_open(self) -> None:
        if self.has_closed:
            raise Detached("the session has ended")

    def demand(self, action: Action, name: bytes) -> None:
        """Raises `Refused` unless the client may do this."""
        if not self._router.authorize(self.principal, action, name):
            raise Refused(f"{action.value} is not allowed")

    def demand_at(self, action: Action, name: bytes) -> None:
        """As `demand`, where the name must be that of one queue or method. Raises `InvalidName` too."""
        if names.is_wild(name) or names.is_service(name):
            raise InvalidName("it has a wildcard or is below $, and so names no queue and no method", "name-reserved")
        self.demand(action, name)
