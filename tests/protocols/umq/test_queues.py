"""Queues by UMQ's calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.task import Clock

from fmqbus.model import Action, QueueSettings
from fmqbus.testing.bus import MemoryClient, OpenPolicy
from fmqbus.testing.message_store import MemoryMessageStore
from tests.protocols.umq.clients import Client, greeted, make_bus


def update(unit: str | bytes) -> dict[str, Any]:
    """What an update says."""
    said: dict[str, Any] = json.loads(str(unit).partition(":")[2])
    return said


def consumer_of(bus: Any, **options: Any) -> Client:
    """A client that consumes ``q`` under the id A."""
    client = greeted(bus)
    assert client.ask("1", "consume", "q", "A", options)[0] == "R1:null"
    return client


def test_messages_go_to_consumers_and_are_settled() -> None:
    """Accepted ones are gone; the window bounds what is given."""
    bus = make_bus()
    consumer, producer = consumer_of(bus, window=2), greeted(bus)
    for number in range(3):
        assert producer.ask(f"{number + 1}", "enqueue", "q", str(number), {"properties": {"k": "v"}}) == [
            f"R{number + 1}:null"
        ]
    first, second = map(update, consumer.heard())
    assert (first["text"], first["properties"], second["text"]) == ("0", {"k": "v"}, "1")
    assert "redelivered" not in first
    heard = consumer.ask("2", "settle", "A", [first["number"], second["number"]], "accept")
    assert heard[0] == "R2:2"
    assert update(heard[1])["text"] == "2"
    assert consumer.ask("3", "settle", "A", [first["number"]], "accept") == ["R3:0"]


def test_what_is_released_comes_again_and_says_so() -> None:
    """With the count of its deliveries."""
    bus = make_bus()
    consumer, producer = consumer_of(bus, window=1), MemoryClient(bus)
    producer.enqueue(b"q", b"x")
    (unit,) = consumer.heard()
    heard = consumer.ask("2", "settle", "A", [update(unit)["number"]], "release")
    assert heard[0] == "R2:1"
    assert (update(heard[1])["redelivered"], update(heard[1])["deliveries"]) == (True, 2)


def test_what_is_rejected_is_a_dead_letter_with_its_reason() -> None:
    """For others to look at."""
    bus = make_bus()
    consumer = consumer_of(bus)
    MemoryClient(bus).enqueue(b"q", b"x")
    (unit,) = consumer.heard()
    consumer.ask("2", "settle", "A", [update(unit)["number"]], "reject", "cannot be read")
    (letter,) = bus.peek(b"dead", 10)
    assert letter.message.properties["dead-letter-detail"] == "cannot be read"


@pytest.mark.parametrize("ending", ["U", "unsubscribe", "gone"])
def test_what_a_consumer_holds_comes_back_when_it_ends(ending: str) -> None:
    """However it ends."""
    bus = make_bus()
    consumer = consumer_of(bus)
    MemoryClient(bus).enqueue(b"q", b"x")
    assert len(consumer.heard()) == 1
    if ending == "U":
        assert consumer.say("UA:") == ["DA:"]
    elif ending == "unsubscribe":
        assert consumer.ask("2", "unsubscribe", "A") == ["DA:", "R2:true"]
    else:
        consumer.session.link_lost("gone")
    answer, again = greeted(bus).ask("1", "consume", "q", "B")
    assert answer == "R1:null"
    assert update(again)["redelivered"] is True


def test_terms_are_kept() -> None:
    """Priority, time to live and delay, in seconds."""
    clock = Clock()
    bus = make_bus(clock, wall=clock.seconds)
    producer = greeted(bus)
    producer.ask("1", "enqueue", "q", "late", {"delay": 5})
    producer.ask("2", "enqueue", "q", "low")
    producer.ask("3", "enqueue", "q", "high", {"priority": 9})
    producer.ask("4", "enqueue", "q", "mortal", {"time_to_live": 1})
    clock.advance(2)
    consumer = greeted(bus)
    heard = consumer.ask("1", "consume", "q", "A")
    assert [update(unit)["text"] for unit in heard[1:]] == ["high", "low"]
    clock.advance(4)
    assert [update(unit)["text"] for unit in consumer.heard()] == ["late"]


def test_the_answer_waits_for_the_store() -> None:
    """A durable message is acknowledged when it is safe, and refused where it cannot be."""
    store = MemoryMessageStore(is_slow=True)
    bus = make_bus(message_store=store)
    bus.startService()
    producer = greeted(bus)
    assert producer.ask("1", "enqueue", "q", "x") == []
    store.write()
    assert producer.heard() == ["R1:null"]
    producer.ask("2", "enqueue", "q", "y")
    store.break_down()
    (refused,) = producer.heard()
    assert str(refused).startswith("E2:8 ")


def test_a_full_queue_refuses() -> None:
    """Code 1."""
    bus = make_bus(queue_settings=QueueSettings(max_messages=1))
    producer = greeted(bus)
    producer.ask("1", "enqueue", "q", "x")
    (refused,) = producer.ask("2", "enqueue", "q", "y")
    assert str(refused).startswith("E2:1 ")


def test_a_consumer_that_loses_its_right_is_told() -> None:
    """By D."""
    policy = OpenPolicy()
    bus = make_bus(authorizers=[policy])
    consumer = consumer_of(bus)
    policy.deny(Action.CONSUME, b"q")
    bus.policy_changed()
    assert consumer.heard() == ["DA:"]
    assert str(consumer.ask("2", "settle", "A", [1], "accept")[0]).startswith("E2:3 ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("enqueue", "q"),
        ("enqueue", "q", "x", {"priority": 10}),
        ("enqueue", "q", "x", {"priority": "high"}),
        ("enqueue", "q", "x", {"delay": -1}),
        ("enqueue", "q", "x", {"colour": "red"}),
        ("enqueue", "*", "x"),
        ("enqueue", "$/q", "x"),
        ("enqueue", "", "x"),
        ("consume", "q", "A", {"window": 0}),
        ("consume", "q", "a"),
        ("consume", "q"),
        ("settle", "B", [1], "accept"),
        ("settle", "A", [1], "eat"),
        ("settle", "A", ["one"], "accept"),
        ("settle", "A", 1, "accept"),
    ],
)
def test_what_cannot_be_meant_is_answered_by_an_error(arguments: tuple[Any, ...]) -> None:
    """Code 3; the conversation goes on (reading 23)."""
    client = greeted(make_bus())
    (refused,) = client.ask("1", *arguments)
    assert str(refused).startswith("E1:3 ")
    assert client.link.calls == []
