"""`fmqbus.client.umq`: what the client hears of is asked for on each connection, and comes once."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from fmqbus.client.events import DemandChange, Message
from fmqbus.errors import Refused
from fmqbus.model import Overflow
from fmqbus.protocols.umq.events import Unsubscribed
from tests.client.failures import failure_of
from tests.client.umq_bus import UMQBus


def test_messages_as_text_and_as_octets(umq_bus: UMQBus) -> None:
    """With their properties."""
    got: list[Message] = []
    umq_bus.client.subscribe("a/*", callback=got.append)
    connection = umq_bus.start()
    assert connection.calls() == [["subscribe", "a/*", "1", {"hidden": False}]]
    connection.answer(0)
    connection.publish("1", {"topic": "a/b", "text": "é", "properties": {"p": "v"}, "retain": True})
    connection.publish("1", {"topic": "a/b"}, [b"\xff"])
    assert got == [Message("a/b", "é".encode(), True, properties={"p": "v"}), Message("a/b", b"\xff")]


def test_sync_waits_for_subscriptions_too(umq_bus: UMQBus) -> None:
    """So whoever publishes afterwards is heard."""
    connection = umq_bus.start()
    umq_bus.client.subscribe("a")
    done = Deferred.fromCoroutine(umq_bus.client.sync())
    connection.calls()
    assert not done.called
    connection.answer(0)
    assert done.called


@pytest.mark.parametrize(
    ("update", "attachments"),
    [([], ()), ({"topic": 1}, ()), ({"topic": "a"}, ()), ({"topic": "a"}, (b"1", b"2")), ({"text": "x"}, ())],
)
def test_updates_that_cannot_be_read_are_counted(umq_bus: UMQBus, update: Any, attachments: Any) -> None:
    """And the next one is heard."""
    got: list[Message] = []
    umq_bus.client.subscribe("a", callback=got.append)
    connection = umq_bus.start()
    connection.publish("1", update, attachments)
    connection.publish("1", {"topic": "a", "text": "1"})
    assert umq_bus.client.invalid == 1
    assert [each.payload for each in got] == [b"1"]


def test_a_message_comes_once_to_each_subscription(umq_bus: UMQBus) -> None:
    """However many of its patterns match, and however many subscriptions there are to a pattern."""
    one: list[Message] = []
    both: list[Message] = []
    umq_bus.client.subscribe("a/*", callback=one.append)
    umq_bus.client.subscribe("a/*", "*/b", callback=both.append)
    connection = umq_bus.start()
    assert [call[1] for call in connection.calls()] == ["a/*", "*/b"]
    update = {"topic": "a/b", "text": "1"}
    connection.publish("1", update)
    connection.publish("3", update)
    connection.publish("3", {"topic": "c/b", "text": "2"})
    assert [each.payload for each in one] == [b"1"]
    assert [each.payload for each in both] == [b"1", b"2"]


def test_whoever_subscribes_later_gets_what_the_bus_keeps(umq_bus: UMQBus) -> None:
    """The bus is asked anew, and ends what it had; nobody else's subscription ends."""
    connection = umq_bus.start()
    first = umq_bus.client.subscribe("a")
    connection.publish("1", {"topic": "a", "text": "old"})
    second = umq_bus.client.subscribe("a", hidden=True)
    assert [call[2:] for call in connection.calls()] == [["1", {"hidden": False}], ["3", {"hidden": False}]]
    connection.end.peer.close_topic(1)
    connection.publish("3", {"topic": "a", "text": "new"})
    assert not first.is_stopped
    first.stop()
    assert not connection.hear()
    second.stop()
    assert connection.hear() == [Unsubscribed("3")]


def test_all_is_asked_for_again_on_a_new_connection(umq_bus: UMQBus) -> None:
    """Wills first; what was stopped meanwhile is not."""
    connection = umq_bus.start()
    umq_bus.client.set_will("w", b"\xff", retain=True)
    connection.calls()
    connection.answer(0)
    stopped = umq_bus.client.subscribe("s")
    umq_bus.client.subscribe("a")
    umq_bus.client.watch("b")
    umq_bus.client.consume("c", window=7)
    connection.break_off()
    stopped.stop()
    connection = umq_bus.come_back()
    calls = connection.calls()
    assert [call[:2] for call in calls] == [
        ["will", "w"],
        ["subscribe", "a"],
        ["watch", "b"],
        ["consume", "c"],
    ]
    assert calls[3][3] == {"window": 7, "weight": 1}


def test_what_the_bus_is_to_do_where_the_connection_has_no_room(umq_bus: UMQBus) -> None:
    """Of several wishes for one pattern the latest counts, as long as somebody has it; without any, the bus chooses."""
    connection = umq_bus.start()
    umq_bus.client.subscribe("a", overflow=Overflow.CONFLATE)
    latest = umq_bus.client.subscribe("a", overflow=Overflow.DISCONNECT)
    umq_bus.client.subscribe("a")
    policies = [call[3]["overflow"] for call in connection.calls()]
    assert policies == ["conflate", "disconnect", "disconnect"]
    latest.stop()
    connection.break_off()
    (again,) = umq_bus.come_back().calls()
    assert again[3] == {"hidden": False, "overflow": "conflate"}


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_subscription_that_is_refused_or_ended_tells_why(umq_bus: UMQBus, is_refused: bool) -> None:
    """And is not asked for again."""
    subscription = umq_bus.client.subscribe("a", "b")
    reading = Deferred.fromCoroutine(anext(subscription))  # type: ignore[arg-type]
    connection = umq_bus.start()
    connection.calls()
    if is_refused:
        connection.refuse(0, 1, "no right")
    else:
        connection.end.peer.open_topic(1, "1")
        connection.end.peer.close_topic(1)
        connection.tell()
    failure = failure_of(reading)
    assert isinstance(failure, Refused)
    assert subscription.is_stopped
    connection.break_off()
    assert umq_bus.come_back().calls() == []


def test_a_watch_tells_changes_and_that_nobody_listens_without_a_connection(umq_bus: UMQBus) -> None:
    """As with FMQP's feedback."""
    changes: list[DemandChange] = []
    watch = umq_bus.client.watch("a/b", callback=changes.append)
    connection = umq_bus.start()
    connection.publish("1", {"pattern": "a/*", "subscribers": 2})
    assert watch.is_wanted
    connection.break_off()
    assert changes == [DemandChange("a/*", 2), DemandChange("a/*", 0)]


def test_messages_of_a_queue_are_settled(umq_bus: UMQBus) -> None:
    """Under the number that the bus gave them, and the id of their connection."""
    got: list[Any] = []
    umq_bus.client.consume("q", callback=got.append)
    connection = umq_bus.start()
    connection.calls()
    connection.answer(0)
    for number in (1, 2, 3):
        connection.publish("1", {"number": number, "topic": "q", "text": "x", "redelivered": True, "deliveries": 2})
    got[0].accept()
    got[1].release()
    got[2].reject("bad")
    assert (got[0].queue, got[0].payload, got[0].is_redelivered, got[0].deliveries) == ("q", b"x", True, 2)
    assert connection.calls() == [
        ["settle", "1", [1], "accept", ""],
        ["settle", "1", [2], "release", ""],
        ["settle", "1", [3], "reject", "bad"],
    ]


def test_what_came_over_a_connection_that_has_gone_comes_again(umq_bus: UMQBus) -> None:
    """What is queued is forgotten, and nothing is said of what is in hand."""
    deliveries = umq_bus.client.consume("q")
    connection = umq_bus.start()
    connection.publish("1", {"number": 1, "topic": "q", "text": "x"})
    connection.publish("1", {"number": 2, "topic": "q", "text": "y"})
    in_hand = Deferred.fromCoroutine(anext(deliveries))  # type: ignore[arg-type]
    connection.break_off()
    connection = umq_bus.come_back()
    in_hand.result.accept()  # type: ignore[attr-defined]
    assert [call[0] for call in connection.calls()] == ["consume"]
    assert not Deferred.fromCoroutine(anext(deliveries)).called  # type: ignore[arg-type]
