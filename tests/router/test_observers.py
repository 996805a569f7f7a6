"""What does an observer see, and what if it fails?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher
from twisted.plugin import IPlugin
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.calls import Answer, Call, Parcel
from fmqbus.interfaces import IObserver, ISession
from fmqbus.model import Consumer, Interest, Message, Outcome, Publication, StoredMessage
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.fast_lane import publish_read
from tests.router.slow_readers import room_for


def outcome(answer: Answer) -> bytes | str:
    """The payload of the reply, or why there is none."""
    result = answer.result
    return result.payload if isinstance(result, Parcel) else result.reason


@implementer(IPlugin, IObserver)
class Witness:
    """Writes down what it sees; raises at a certain method, if so told."""

    def __init__(self, fails_at: str = "") -> None:
        self.seen: list[tuple[Any, ...]] = []
        self._fails_at = fails_at

    def _see(self, what: str, *details: Any) -> None:
        if what == self._fails_at:
            raise RuntimeError("out of order")
        self.seen.append((what, *details))

    def published(self, session: ISession | None, publication: Publication) -> None:
        self._see("published", session, [(m.topic, m.payload) for m in publication.messages])

    def dropped(self, session: ISession, publication: Publication, reason: str) -> None:
        self._see("dropped", session, [(m.topic, m.payload) for m in publication.messages], reason)

    def enqueued(self, session: ISession | None, messages: Sequence[StoredMessage]) -> None:
        self._see("enqueued", session, [(stored.queue, stored.message.payload) for stored in messages])

    def taken(self, session: ISession, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        self._see("taken", session, [stored.message.payload for _, stored in deliveries])

    def settled(
        self, session: ISession, consumer: Consumer, messages: Sequence[StoredMessage], outcome: Outcome
    ) -> None:
        self._see("settled", session, [stored.message.payload for stored in messages], outcome)

    def gave_up(self, queue: bytes, message: StoredMessage, reason: str) -> None:
        self._see("gave up", queue, message.message.payload, reason)

    def interest_changed(self, change: Interest) -> None:
        self._see("interest", change.pattern, change.subscribers)

    def asked(self, calls: Sequence[Call]) -> None:
        self._see("asked", [(call.method, call.parcel.payload) for call in calls])

    def called(self, session: ISession, calls: Sequence[Call]) -> None:
        self._see("called", session, [call.parcel.payload for call in calls])

    def answered(self, answers: Sequence[Answer]) -> None:
        self._see("answered", [(answer.call.parcel.payload, outcome(answer)) for answer in answers])

    def session_opened(self, session: ISession) -> None:
        self._see("opened", session)

    def session_closed(self, session: ISession, reason: str) -> None:
        self._see("closed", session, reason)


def test_an_observer_sees_clients_interest_and_publications() -> None:
    """In the order in which they happen; a will before its client is said to have gone."""
    witness = Witness()
    assert verifyObject(IObserver, witness)
    router = make_router(observers=[witness])
    client = MemoryClient(router)
    client.subscribe(b"a")
    client.publish(b"a", b"1")
    client.set_will(b"w", b"bye")
    client.close("link lost")
    session = client.session
    assert witness.seen == [
        ("opened", session),
        ("interest", b"a", 1),
        ("published", session, [(b"a", b"1")]),
        ("interest", b"a", 0),
        ("published", session, [(b"w", b"bye")]),
        ("closed", session, "link lost"),
    ]


def test_a_run_is_seen_once_and_before_any_outbox() -> None:
    """Once its topic's way is known, an observer costs a call for each run, not for each message."""
    witness = Witness()
    router = make_router(observers=[witness])
    writer = MemoryClient(router)
    publish_read(writer, (b"a", b"0"))
    witness.seen.clear()
    publish_read(writer, *((b"a", b"%d" % number) for number in range(1, 9)))
    assert witness.seen == [("published", writer.session, [(b"a", b"%d" % number) for number in range(1, 9)])]


def test_hidden_subscriptions_are_hidden_from_observers_too() -> None:
    """What is told is interest, not subscriptions."""
    witness = Witness()
    client = MemoryClient(make_router(observers=[witness]))
    client.subscribe(b"a", hidden=True)
    client.unsubscribe(b"a")
    assert [event[0] for event in witness.seen] == ["opened"]


def test_what_an_outbox_gives_up_is_seen_with_the_reason() -> None:
    """Exactly those messages, with the client that does not get them."""
    witness = Witness()
    router = make_router(observers=[witness], limits=room_for(1, octets=2))
    slow, writer = MemoryClient(router), MemoryClient(router)
    slow.subscribe(b"*")
    slow.pause()
    writer.publish(b"a", b"1")
    writer.publish(b"b", b"2")
    dropped = [event for event in witness.seen if event[0] == "dropped"]
    assert dropped == [("dropped", slow.session, [(b"a", b"1")], "outbox-full")]


def test_an_observer_sees_what_becomes_of_messages_in_queues() -> None:
    """Who enqueued, who was handed and who settled what; and what left a queue without having been accepted."""
    witness = Witness()
    router = make_router(observers=[witness])
    producer, consuming = MemoryClient(router), MemoryClient(router)
    consumer = consuming.consume(b"q")
    witness.seen.clear()
    for payload in (b"1", b"2"):
        producer.session.enqueue(b"q", Message(b"q", payload))
    producer.session.flush()
    first, second = consumer.unsettled
    consuming.settle(consumer, [first])
    consuming.settle(consumer, [second], Outcome.REJECT)
    router.purge(b"dead")
    assert witness.seen == [
        ("enqueued", producer.session, [(b"q", b"1"), (b"q", b"2")]),
        ("taken", consuming.session, [b"1", b"2"]),
        ("settled", consuming.session, [b"1"], Outcome.ACCEPT),
        ("gave up", b"q", b"2", "rejected"),
        ("settled", consuming.session, [b"2"], Outcome.REJECT),
        ("enqueued", None, [(b"dead", b"2")]),
        ("gave up", b"dead", b"2", "purged"),
    ]


def test_an_observer_sees_that_a_message_is_in_a_queue_before_it_is_handed_out() -> None:
    """Also where it dies and is handed out in one turn."""
    witness, clock = Witness(), Clock()
    router = make_router(clock, observers=[witness])
    client = MemoryClient(router)
    client.consume(b"q")
    client.consume(b"dead")
    witness.seen.clear()
    client.enqueue(b"q", b"x", time_to_live=0.0)
    clock.advance(1.0)
    assert [event[0] for event in witness.seen] == ["enqueued", "gave up", "enqueued", "taken"]


FAILURES: dict[str, Callable[[MemoryClient], object]] = {
    "published": lambda client: client.publish(b"a", b"1"),
    "interest": lambda client: client.subscribe(b"a"),
    "opened": lambda client: None,
    "closed": lambda client: client.close(),
}


@pytest.fixture
def failures() -> Iterator[list[str]]:
    """What is logged with a traceback during the test."""
    found: list[str] = []

    def observe(event: Any) -> None:
        if "log_failure" in event:
            found.append(event["log_failure"].getErrorMessage())

    globalLogPublisher.addObserver(observe)
    yield found
    globalLogPublisher.removeObserver(observe)


@pytest.mark.parametrize("fails_at", FAILURES)
def test_an_observer_that_raises_is_reported_and_asked_no_more(fails_at: str, failures: list[str]) -> None:
    """The bus and the other observers go on as if it had never been there."""
    broken, sound = Witness(fails_at), Witness()
    router = make_router(Clock(), observers=[broken, sound])
    reader, client = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"b")
    FAILURES[fails_at](client)
    seen = len(broken.seen)
    MemoryClient(router).publish(b"b", b"x")
    assert failures == ["out of order"]
    assert len(broken.seen) == seen
    assert sound.seen[-1][0] == "published"
    assert any(event[0] == fails_at for event in sound.seen)
    assert reader.payloads == [b"x"]
    assert router.observers == [sound]
