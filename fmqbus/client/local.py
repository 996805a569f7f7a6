"""A client inside the process, for applications that embed the bus: no socket and no wire between it and the router.

It is a peer like any other: what it says is authorized, and what it subscribes is demand that publishers see. It has no
outbox worth the name, since its callbacks run in the reactor's own thread: while one of them works, nobody publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from zope.interface import implementer

from fmqbus import model, names
from fmqbus.calls import Answer, Call, FailedAttachment, Parcel, Service
from fmqbus.client.events import DemandChange, Message, from_bus
from fmqbus.client.local_calls import Function, LocalCalls
from fmqbus.client.queue_message import QueueMessage
from fmqbus.errors import LocalError
from fmqbus.interfaces import IPeer, IRouter
from fmqbus.model import (
    NO_PROPERTIES,
    Consumer,
    Interest,
    Outcome,
    PeerFacts,
    Principal,
    Publication,
    StoredMessage,
    Terms,
    readable,
)
from fmqbus.schedules.errands import Errand
from fmqbus.schedules.table import Missed
from fmqbus.schedules.timing import Timing

_log = Logger()


@implementer(IPeer)
class LocalClient:
    """Publishes and subscribes in the name of the application, as the protocol ``local`` on this machine.

    All methods take effect at once, and others have what they caused before they return. Callbacks run in a turn of
    their own, so that they may publish and subscribe themselves. Every method raises what `ISession` does.
    """

    #: Each delivery tells which subscription it is for.
    is_blind = False

    def __init__(self, router: IRouter, identity: str | None = None, *, principal: Principal | None = None) -> None:
        """`identity` is a name that the application vouches for; or it says everything of who acts, by `principal`."""
        self._clock = router.clock
        self._watchers: dict[bytes, Callable[[DemandChange], object]] = {}
        own = Principal("local", PeerFacts("memory", is_local=True), identity)
        self._session = router.attach(self, principal or own)
        self._calls = LocalCalls(self._session, self._clock)

    # what the application says

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Publish, and with `retain` keep as the value that later subscribers get at once."""
        self._session.publish(model.Message(names.from_text(topic), payload, retain))
        self._session.flush()

    def subscribe(self, pattern: str, callback: Callable[[Message], object], *, debug: bool = False) -> None:
        """Have the callback called with each message of an equivalent topic; `debug` hides the subscription from
        demand. A later call for the same pattern replaces the callback."""
        self._session.subscribe(names.from_text(pattern), hidden=debug, tag=callback)
        self._session.flush()

    def unsubscribe(self, pattern: str) -> bool:
        """End the subscription to exactly this pattern; False if there is none."""
        is_ended: bool = self._session.unsubscribe(names.from_text(pattern))
        self._session.flush()
        return is_ended

    def watch(self, pattern: str, callback: Callable[[DemandChange], object]) -> None:
        """Have the callback called with the number of subscribers of each equivalent pattern, now and on every change.
        A later call for the same pattern replaces the callback."""
        watched = names.from_text(pattern)
        self._watchers[watched] = callback
        self._session.watch_interest(watched)
        self._session.flush()

    def unwatch(self, pattern: str) -> bool:
        """End exactly this watch; False if there is none."""
        watched = names.from_text(pattern)
        self._watchers.pop(watched, None)
        is_ended: bool = self._session.unwatch_interest(watched)
        return is_ended

    def enqueue(
        self,
        queue: str,
        payload: bytes,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        priority: int = 0,
        time_to_live: float | None = None,
        delay: float = 0.0,
    ) -> Deferred[None]:
        """Put a message into a queue, on the terms of `fmqbus.model.Terms`. Fires when it is as safe as this bus makes
        it, and fails with `StoreFailed` if it could not be kept."""
        name = names.from_text(queue)
        message = model.Message(name, payload, properties=properties)
        terms = Terms(priority=priority, time_to_live=time_to_live, delay=delay)
        waiting: Deferred[None] | None = self._session.enqueue(name, message, terms)
        self._session.flush()
        return succeed(None) if waiting is None else waiting

    def schedule(
        self,
        key: str,
        timing: Timing,
        payload: bytes,
        *,
        queue: str = "",
        topic: str = "",
        properties: Mapping[str, str] = NO_PROPERTIES,
        at_once: bool = True,
        runs: int | None = None,
        missed: Missed | None = None,
    ) -> Deferred[None]:
        """Have a message put into a queue, or else published on a topic, at certain times, as `ISession.schedule` does.
        Fires when that is as safe as this bus makes it. Raises `LocalError` unless it is just one of them."""
        if bool(queue) is bool(topic):
            raise LocalError("give either a queue or a topic")
        name = names.from_text(queue or topic)
        errand = Errand(model.Message(name, payload, properties=properties), name if queue else None)
        waiting: Deferred[None] | None = self._session.schedule(key, timing, errand, at_once, runs, missed)
        return succeed(None) if waiting is None else waiting

    def unschedule(self, key: str) -> Deferred[bool]:
        """End what was scheduled under this key. Fires when that is safe, with False if there was none."""
        ended: Deferred[bool] = self._session.unschedule(key)
        return ended

    def consume(
        self, queue: str, callback: Callable[[QueueMessage], object], *, window: int = 100, weight: int = 1
    ) -> Consumer:
        """Have the callback called with messages of the queue, which it or somebody later settles; no more than
        `window` come before that. A message is released if the callback raises. Returns what `cancel` takes."""
        consumer: Consumer = self._session.consume(names.from_text(queue), window, weight, callback)
        self._session.flush()
        return consumer

    def cancel(self, consumer: Consumer) -> None:
        """Consume no more; what is not settled goes back to the queue. May be repeated."""
        self._session.cancel(consumer)
        self._session.flush()

    def serve(self, method: str, function: Function, *, window: int = 100, weight: int = 1) -> Service:
        """Have the function answer calls of the method, no more than `window` at a time. It gets a `Call`, and returns
        octets, a `Parcel`, None, or a Deferred or a coroutine of these, which is cancelled when nobody waits for it any
        more. It raises `CallFailed` to fail with a code and a text of its own; whatever else it raises, the caller is
        only told that it failed. Returns what `unserve` takes."""
        return self._calls.serve(names.from_text(method), function, window, weight)

    def unserve(self, service: Service) -> None:
        """Have the function asked no more; what it is at work on it still answers. May be repeated."""
        self._calls.unserve(service)

    def call(
        self,
        method: str,
        payload: bytes = b"",
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        attachments: Sequence[bytes | FailedAttachment] = (),
        deadline_seconds: float | None = None,
    ) -> Deferred[Parcel]:
        """Ask somebody who serves the method. Fires with the reply; fails with `CallFailed` if there is none, and with
        `Detached` if this client leaves before. Cancelling it abandons the call."""
        parcel = Parcel(payload, properties, tuple(attachments))
        return self._calls.call(names.from_text(method), parcel, deadline_seconds)

    def close(self) -> None:
        """Leave the bus. May be repeated."""
        self._leave("left")

    def _leave(self, reason: str) -> None:
        self._session.close(reason)
        self._calls.close()

    # what the router asks (IPeer)

    def deliver(self, batch: Sequence[tuple[Publication, tuple[model.Subscription, ...]]]) -> None:
        calls = [
            (subscription.tag, message)
            for publication, matched in batch
            for message in from_bus(publication.messages)
            for subscription in matched
        ]
        self._session.count_sent(len(calls), 0)
        self._clock.callLater(0, self._call_back, calls)

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        self._session.count_sent(len(deliveries), 0)
        self._clock.callLater(0, self._call_consumers, deliveries)

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        _log.warn("a local consumer has ended: {reason}", reason=reason)

    def called(self, calls: Sequence[Call]) -> None:
        self._session.count_sent(len(calls), 0)
        self._calls.called(calls)

    def abandoned(self, calls: Sequence[Call]) -> None:
        self._calls.abandoned(calls)

    def answered(self, answers: Sequence[Answer]) -> None:
        self._session.count_sent(len(answers), 0)
        self._calls.answered(answers)

    def service_ended(self, service: Service, reason: str) -> None:
        _log.warn("a local service has ended: {reason}", reason=reason)

    def interest_changed(self, changes: Sequence[Interest]) -> None:
        calls = [
            (callback, DemandChange(names.to_text(change.pattern), change.subscribers))
            for change in changes
            for pattern, callback in self._watchers.items()
            if names.equivalent(pattern, change.pattern)
        ]
        self._clock.callLater(0, self._call_back, calls)

    def subscription_ended(self, subscription: model.Subscription, reason: str) -> None:
        _log.warn("a local subscription has ended: {reason}", reason=reason)

    def pause_reading(self) -> None:
        """The application is not made to wait; `Overflow.PAUSE` then bounds its publications by dropping the oldest."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""

    def stop_listening(self) -> None:
        """The bus drains. What the application publishes now is still heard, so that it can say goodbye."""

    def ending(self, reason: str) -> None:
        self._clock.callLater(0, self._leave, reason)

    def abort(self, reason: str) -> None:
        self._clock.callLater(0, self._leave, reason)

    def _call_consumers(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        for consumer, stored in deliveries:
            if stored.number not in consumer.unsettled:
                continue  # it has been cancelled since
            message = QueueMessage(
                names.to_text(stored.queue),
                stored.message.payload,
                readable(stored.message.properties),
                stored.is_redelivered,
                stored.deliveries,
                partial(self._settle, consumer, stored.number),
            )
            try:
                consumer.tag(message)
            except Exception:
                _log.failure("a callback of a local client failed; its message is released")
                message.release()

    def _settle(self, consumer: Consumer, number: int, outcome: Outcome, reason: str) -> None:
        self._session.settle(consumer, (number,), outcome, reason)
        self._session.flush()

    @staticmethod
    def _call_back(calls: Sequence[tuple[Callable[..., object], object]]) -> None:
        """A callback that raises is reported and keeps no other from its call."""
        for callback, event in calls:
            try:
                callback(event)
            except Exception:
                _log.failure("a callback of a local client failed")
