"""`fmqbus.client.local`: a client in the process is a peer like any other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.task import Clock
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.auth.defaults import LocalPeers
from fmqbus.client.events import DemandChange, Message
from fmqbus.client.local import LocalClient
from fmqbus.client.queue_message import QueueMessage
from fmqbus.errors import Detached, LocalError, Refused
from fmqbus.interfaces import IAuthorizer, IPeer
from fmqbus.model import Action, Decision, Principal
from fmqbus.router.service import Router
from fmqbus.schedules.timing import Every
from fmqbus.stores.memory import MemoryRetainedStore


@implementer(IAuthorizer)
class NoSecrets:
    """Denies everything below ``secret``, and defers on the rest."""

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.DENY if name.startswith(b"secret/") else Decision.DEFER


@pytest.fixture
def clock() -> Clock:
    """The router's clock; callbacks run when it advances."""
    return Clock()


@pytest.fixture
def join(clock: Clock) -> Callable[[], LocalClient]:
    """Makes clients of one bus."""
    router = Router(clock, [NoSecrets(), LocalPeers()], MemoryRetainedStore(), wall=clock.seconds)
    return lambda: LocalClient(router)


def test_a_local_client_is_a_peer(join: Callable[[], LocalClient]) -> None:
    """The contract IPeer holds."""
    verifyObject(IPeer, join())


def test_what_one_publishes_another_gets_in_a_later_turn(join: Callable[[], LocalClient], clock: Clock) -> None:
    """Callbacks are not called from within `publish`, so they may publish themselves."""
    got: list[Message] = []
    publisher, subscriber = join(), join()
    subscriber.subscribe("room/*", got.append)
    publisher.publish("room/temp", b"21.5")
    assert got == []
    clock.advance(0)
    assert got == [Message("room/temp", b"21.5")]
    assert subscriber.unsubscribe("room/*")
    publisher.publish("room/temp", b"22")
    clock.advance(0)
    assert len(got) == 1


def test_each_subscription_that_fits_has_its_own_call(join: Callable[[], LocalClient], clock: Clock) -> None:
    """A local client knows which of its subscriptions matched."""
    exact: list[Message] = []
    wide: list[Message] = []
    client = join()
    client.subscribe("a/b", exact.append)
    client.subscribe("a/*", wide.append)
    client.publish("a/b", b"x")
    client.publish("a/c", b"y")
    clock.advance(0)
    assert [m.payload for m in exact] == [b"x"]
    assert [m.payload for m in wide] == [b"x", b"y"]


def test_a_retained_value_comes_with_the_subscription(join: Callable[[], LocalClient], clock: Clock) -> None:
    """And says that it is one."""
    got: list[Message] = []
    join().publish("room/temp", b"21.5", retain=True)
    join().subscribe("room/temp", got.append)
    clock.advance(0)
    assert got == [Message("room/temp", b"21.5", retained=True)]


def test_demand_is_told_now_and_on_every_change(join: Callable[[], LocalClient], clock: Clock) -> None:
    """Debug subscriptions do not count; leaving the bus does."""
    changes: list[DemandChange] = []
    watcher, subscriber, hidden = join(), join(), join()
    subscriber.subscribe("room/*", lambda message: None)
    watcher.watch("room/temp", changes.append)
    hidden.subscribe("room/temp", lambda message: None, debug=True)
    subscriber.close()
    clock.advance(0)
    assert changes == [DemandChange("room/*", 1), DemandChange("room/*", 0)]
    assert watcher.unwatch("room/temp")
    assert not watcher.unwatch("room/temp")


def test_a_callback_that_raises_keeps_no_other_from_its_call(join: Callable[[], LocalClient], clock: Clock) -> None:
    """It is reported instead."""
    got: list[Message] = []

    def fail(message: Message) -> None:
        raise RuntimeError("a bug of the application")

    client = join()
    client.subscribe("a/b", fail)
    client.subscribe("a/*", got.append)
    client.publish("a/b", b"x")
    clock.advance(0)
    assert len(got) == 1


def test_a_local_client_is_authorized_like_any_other(join: Callable[[], LocalClient]) -> None:
    """Being in the process is no right of its own."""
    client = join()
    with pytest.raises(Refused):
        client.publish("secret/plan", b"x")
    with pytest.raises(Refused):
        client.subscribe("secret/plan", lambda message: None)


def test_what_one_enqueues_another_consumes_and_settles(join: Callable[[], LocalClient], clock: Clock) -> None:
    """Each message comes to one callback, and again if it is released."""
    got: list[QueueMessage] = []
    producer, consuming = join(), join()
    consuming.consume("jobs", got.append, window=2)
    done: list[None] = []
    for payload in (b"1", b"2", b"3"):
        producer.enqueue("jobs", payload, properties={"k": "v"}).addCallback(done.append)
    assert got == []
    clock.advance(0)
    assert done == [None, None, None]
    assert [(m.queue, m.payload, m.properties, m.deliveries, m.is_redelivered) for m in got] == [
        ("jobs", b"1", {"k": "v"}, 1, False),
        ("jobs", b"2", {"k": "v"}, 1, False),
    ]
    got[0].release()
    got[1].accept()
    got[1].release()
    clock.advance(0)
    assert [(m.payload, m.deliveries, m.is_redelivered) for m in got[2:]] == [(b"1", 2, True), (b"3", 1, False)]
    got[2].reject("cannot be read")
    consuming.consume("dead", got.append)
    clock.advance(0)
    assert got[4].properties["dead-letter-detail"] == "cannot be read"


def test_a_message_can_be_urgent_late_and_soon_of_no_use(join: Callable[[], LocalClient]) -> None:
    """What a producer may ask for one message, it may ask here."""
    client = join()
    client.enqueue("jobs", b"x", priority=9, delay=1.0, time_to_live=2.0)
    with pytest.raises(LocalError):
        client.enqueue("jobs", b"x", priority=10)


def test_a_message_can_come_at_certain_times(join: Callable[[], LocalClient], clock: Clock) -> None:
    """Into a queue or on a topic, until it is no longer scheduled."""
    got: list[bytes] = []
    client = join()
    client.consume("jobs", lambda message: got.append(message.payload))
    client.subscribe("ticks", lambda message: got.append(message.payload))
    client.schedule("a", Every(60), b"a", queue="jobs", runs=2)
    client.schedule("b", Every(60), b"b", topic="ticks", at_once=False)
    clock.pump([0, 0, 60, 0, 60, 0])
    assert sorted(got) == [b"a", b"a", b"b", b"b"]
    ended: list[bool] = []
    for _ in range(2):
        client.unschedule("b").addCallback(ended.append)
    assert ended == [True, False]
    for where in ({}, {"queue": "jobs", "topic": "ticks"}):
        with pytest.raises(LocalError):
            client.schedule("c", Every(60), b"c", **where)


def test_a_message_whose_callback_fails_is_released_and_in_the_end_given_up(
    join: Callable[[], LocalClient], clock: Clock
) -> None:
    """It does not block the consumer for ever, and is not lost."""
    got: list[QueueMessage] = []

    def fail(message: QueueMessage) -> None:
        got.append(message)
        raise RuntimeError("a bug of the application")

    client = join()
    client.consume("jobs", fail, window=1)
    client.consume("dead", got.append)
    client.enqueue("jobs", b"x")
    for _ in range(30):
        clock.advance(0)
    assert [m.queue for m in got] == ["jobs"] * 20 + ["dead"]


def test_a_consumer_that_is_cancelled_is_called_no_more(join: Callable[[], LocalClient], clock: Clock) -> None:
    """Not even with what was on its way; that goes to others."""
    got: list[QueueMessage] = []
    other: list[QueueMessage] = []
    client = join()
    consumer = client.consume("jobs", got.append)
    client.enqueue("jobs", b"x")
    client.cancel(consumer)
    client.cancel(consumer)
    client.consume("jobs", other.append)
    clock.advance(0)
    assert (got, [m.payload for m in other]) == ([], [b"x"])


def test_a_client_that_has_left_can_say_no_more(join: Callable[[], LocalClient]) -> None:
    """And may leave twice."""
    client = join()
    client.close()
    client.close()
    with pytest.raises(Detached):
        client.publish("a", b"x")
