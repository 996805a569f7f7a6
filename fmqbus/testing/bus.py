"""A bus in memory, and clients who say on it what a test tells them and remember what they hear.

Nothing here waits: time is a `task.Clock` that the test advances, and a client's link is as full as the test says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.calls import Answer, Call, Parcel, Service
from fmqbus.errors import CallFailed
from fmqbus.interfaces import IAuthorizer, IPeer, IRouter, ISession
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import (
    Action,
    Consumer,
    Decision,
    Interest,
    Message,
    Outcome,
    Overflow,
    PeerFacts,
    Principal,
    Publication,
    StoredMessage,
    Subscription,
    Terms,
)
from fmqbus.router.service import Router
from fmqbus.schedules.errands import Errand
from fmqbus.schedules.timing import Timing
from fmqbus.stores.memory import MemoryRetainedStore

#: Who a client acts as unless a test says otherwise.
LOCAL = Principal("memory", PeerFacts("memory", is_local=True))


@implementer(IPlugin, IAuthorizer)
@attrs.define
class OpenPolicy:
    """Allows everything but what a test has denied. For tests only."""

    denied: set[tuple[Action, bytes]] = attrs.field(factory=set)

    def deny(self, action: Action, *names: bytes) -> None:
        """Deny the action on just these names; the router learns of it by `IRouter.policy_changed`."""
        self.denied.update((action, name) for name in names)

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.DENY if (action, name) in self.denied else Decision.ALLOW


def make_router(
    clock: Any = None,
    authorizers: Sequence[IAuthorizer] | None = None,
    retained: Any = None,
    limits: Limits = DEFAULT_LIMITS,
    **options: Any,
) -> Router:
    """A bus that allows everything, keeps retained values in memory and has a clock that stands still, and that tells
    the time of day too.

    Each can be replaced; `options` are further arguments of `Router`.
    """
    clock = clock or Clock()
    options.setdefault("wall", clock.seconds)
    return Router(
        clock=clock,
        authorizers=[OpenPolicy()] if authorizers is None else authorizers,
        retained=MemoryRetainedStore(limits) if retained is None else retained,
        limits=limits,
        **options,
    )


@implementer(IPeer)
class MemoryPeer:
    """Remembers all that the bus asks of it."""

    def __init__(self, is_blind: bool = False) -> None:
        self.is_blind = is_blind
        #: What was delivered and told, in order.
        self.received: list[Message | Interest] = []
        #: The batches of `IPeer.deliver` as they came.
        self.batches: list[Sequence[tuple[Publication, tuple[Subscription, ...]]]] = []
        #: The messages of queues that were handed over, in order, and the batches of `IPeer.take` as they came.
        self.taken: list[tuple[Consumer, StoredMessage]] = []
        self.takes: list[Sequence[tuple[Consumer, StoredMessage]]] = []
        #: The calls that it was asked to answer, those among them that nobody wants answered any more, and the ends of
        #: its own, each in order.
        self.asked: list[Call] = []
        self.let_off: list[Call] = []
        self.answers: list[Answer] = []
        #: Every other call of a method, as its words: ``"abort outbox-full"``.
        self.calls: list[str] = []

    @property
    def messages(self) -> list[Message]:
        """The messages delivered, in order."""
        return [item for item in self.received if isinstance(item, Message)]

    @property
    def payloads(self) -> list[bytes]:
        """The payloads of the messages delivered, in order."""
        return [message.payload for message in self.messages]

    @property
    def taken_payloads(self) -> list[bytes]:
        """The payloads of the messages of queues that were handed over, in order."""
        return [stored.message.payload for _, stored in self.taken]

    @property
    def asked_payloads(self) -> list[bytes]:
        """The payloads of the calls that it was asked to answer, in order."""
        return [call.parcel.payload for call in self.asked]

    @property
    def replies(self) -> list[bytes | str]:
        """How its own calls have ended, in order: the payload of the reply, or the reason of the failure."""
        return [
            answer.result.reason if isinstance(answer.result, CallFailed) else answer.result.payload
            for answer in self.answers
        ]

    @property
    def interest(self) -> list[tuple[bytes, int]]:
        """The changes of interest told, in order, as (pattern, subscribers)."""
        return [(item.pattern, item.subscribers) for item in self.received if isinstance(item, Interest)]

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        self.batches.append(batch)
        for publication, _ in batch:
            self.received += publication.messages

    def interest_changed(self, changes: Sequence[Interest]) -> None:
        self.received += changes

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        self.calls.append(f"subscription_ended {subscription.pattern.decode()} {reason}")

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        self.takes.append(deliveries)
        self.taken += deliveries

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        self.calls.append(f"consumer_ended {consumer.queue.decode()} {reason}")

    def called(self, calls: Sequence[Call]) -> None:
        self.asked += calls

    def abandoned(self, calls: Sequence[Call]) -> None:
        self.let_off += calls

    def answered(self, answers: Sequence[Answer]) -> None:
        self.answers += answers

    def service_ended(self, service: Service, reason: str) -> None:
        self.calls.append(f"service_ended {service.method.decode()} {reason}")

    def pause_reading(self) -> None:
        self.calls.append("pause_reading")

    def resume_reading(self) -> None:
        self.calls.append("resume_reading")

    def stop_listening(self) -> None:
        self.calls.append("stop_listening")

    def ending(self, reason: str) -> None:
        self.calls.append(f"ending {reason}")

    def abort(self, reason: str) -> None:
        self.calls.append(f"abort {reason}")


class MemoryClient(MemoryPeer):
    """A peer with its session. What it says is flushed at once, as if it had been all of one read."""

    def __init__(self, router: IRouter, principal: Principal = LOCAL, is_blind: bool = False) -> None:
        super().__init__(is_blind)
        self.session: ISession = router.attach(self, principal)

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        super().deliver(batch)
        publications = [publication for publication, _ in batch]
        self.session.count_sent(sum(each.count for each in publications), sum(each.size for each in publications))

    def publish(self, topic: bytes, payload: bytes, retain: bool = False) -> None:
        self.session.publish(Message(topic, payload, retain))
        self.session.flush()

    def set_will(self, topic: bytes, payload: bytes, retain: bool = False) -> None:
        self.session.set_will(Message(topic, payload, retain, will=True))

    def subscribe(self, pattern: bytes, hidden: bool = False, overflow: Overflow | None = None) -> Subscription:
        subscription = self.session.subscribe(pattern, hidden, overflow)
        self.session.flush()
        return subscription

    def unsubscribe(self, pattern: bytes) -> bool:
        existed = self.session.unsubscribe(pattern)
        self.session.flush()
        return existed

    def watch(self, pattern: bytes) -> None:
        self.session.watch_interest(pattern)
        self.session.flush()

    def unwatch(self, pattern: bytes) -> bool:
        return self.session.unwatch_interest(pattern)

    def enqueue(self, queue: bytes, payload: bytes, **terms: Any) -> Deferred[None] | None:
        """`terms` are those of `Terms`."""
        waiting: Deferred[None] | None = self.session.enqueue(queue, Message(queue, payload), Terms(**terms))
        self.session.flush()
        return waiting

    def consume(self, queue: bytes, window: int = 100, weight: int = 1) -> Consumer:
        consumer = self.session.consume(queue, window, weight)
        self.session.flush()
        return consumer

    def settle(
        self,
        consumer: Consumer,
        numbers: Sequence[int] | None = None,
        outcome: Outcome = Outcome.ACCEPT,
        reason: str = "",
    ) -> int:
        """Settle these messages, or all that the consumer holds."""
        settled: int = self.session.settle(
            consumer, list(consumer.unsettled) if numbers is None else numbers, outcome, reason
        )
        self.session.flush()
        return settled

    def give_back(self, consumer: Consumer, numbers: Sequence[int]) -> int:
        given_back: int = self.session.give_back(consumer, numbers)
        self.session.flush()
        return given_back

    def cancel(self, consumer: Consumer) -> None:
        self.session.cancel(consumer)
        self.session.flush()

    def schedule(
        self, key: str, timing: Timing, payload: bytes, queue: bytes = b"", topic: bytes = b"", **options: Any
    ) -> Deferred[None] | None:
        """For a queue or a topic; `options` are those of `ISession.schedule`."""
        errand = Errand(Message(topic or queue, payload), queue or None)
        waiting: Deferred[None] | None = self.session.schedule(key, timing, errand, **options)
        self.session.flush()
        return waiting

    def unschedule(self, key: str) -> Deferred[bool]:
        waiting: Deferred[bool] = self.session.unschedule(key)
        self.session.flush()
        return waiting

    def call(self, method: bytes, payload: bytes = b"", seconds: float | None = None, **properties: str) -> Call:
        call = self.session.call(method, Parcel(payload, properties), seconds)
        self.session.flush()
        return call

    def abandon(self, call: Call) -> None:
        self.session.abandon(call)
        self.session.flush()

    def serve(self, method: bytes, window: int = 100, weight: int = 1) -> Service:
        service = self.session.serve(method, window, weight)
        self.session.flush()
        return service

    def unserve(self, service: Service) -> None:
        self.session.unserve(service)
        self.session.flush()

    def reply(self, call: Call, payload: bytes = b"") -> bool:
        was_wanted: bool = self.session.reply(call, Parcel(payload))
        self.session.flush()
        return was_wanted

    def fail(self, call: Call, code: int = 0, text: str = "") -> bool:
        was_wanted: bool = self.session.fail(call, code, text)
        self.session.flush()
        return was_wanted

    def pause(self) -> None:
        """The link is full."""
        self.session.pause_delivery()

    def resume(self) -> None:
        """The link takes data again."""
        self.session.resume_delivery()

    def close(self, reason: str = "gone") -> None:
        """The link has gone, and the client with it."""
        self.session.close(reason)
