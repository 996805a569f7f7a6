"""Does the peer answer every vector as it should? (the vectors say where each comes from)"""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.events import Called, Event, Greeted, TopicClosed, Updated
from fmqbus.testing.umq import End, Unit, client, server
from tests.protocols.umq.clients import Client, greeted, make_bus
from tests.vectors.units import VECTORS, units_of

TO_BROKER = [vector for vector in VECTORS if vector["direction"] == "client->broker"]
BY_NAME = {vector["name"]: vector for vector in VECTORS}
TOPIC = codec.parse_id("9A8Z")


def texts_of(vector: dict[str, Any]) -> list[str]:
    """Those of its messages that are text."""
    return [unit for unit in units_of(vector) if isinstance(unit, str)]


def prepared(vector: dict[str, Any]) -> End:
    """A server to which has happened what the vector supposes."""
    after = vector.get("after", [])
    end = server(is_open="a finished handshake" in after or "unsubscribe" in after)
    for happened in after:
        if "topic id 9A8Z" in happened or happened == "unsubscribe":
            end.peer.open_topic(TOPIC, "topic")
        if happened == "unsubscribe":
            end.hear("U9A8Z:")
        if happened.startswith("C7"):
            end.hear("C7:first")
    end.sent()
    return end


def heard(end: End, units: list[Unit]) -> list[Unit]:
    """What the end answers, with a session that lets in everybody and knows no method."""
    for unit in units:
        for event in end.hear(unit):
            if isinstance(event, Greeted):
                end.peer.welcome()
            elif isinstance(event, Called):
                end.peer.refuse(event.id, codec.UNKNOWN_METHOD, "there is no such method")
    return end.sent()


def key(answer: Unit) -> tuple[str, str]:
    """What of an answer is not free."""
    assert isinstance(answer, str)
    head, _, payload = answer.partition(":")
    return head, payload.partition(" ")[0] if head[0] in "FE" else ""


#: What the vectors leave open, as the readings have it (18, 24, 11, 6).
LEFT_OPEN = {
    "second_hello": [("F0", "3")],
    "call_in_flight_id": [("E7", "3")],
    "attachments_interleaved": [("E124", "7"), ("E123", "7")],
    "attachment_count_base36": [],
}


def expected(vector: dict[str, Any]) -> list[tuple[str, str]]:
    """The answers to a vector: its own, or ours."""
    return [key(answer) for answer in vector["reply"]] if "reply" in vector else LEFT_OPEN[vector["name"]]


@pytest.mark.parametrize("vector", TO_BROKER, ids=[vector["name"] for vector in TO_BROKER])
def test_the_broker_answers(vector: dict[str, Any]) -> None:
    """UMQ, Message types: letter, id and code are the vector's; text is free."""
    assert [key(answer) for answer in heard(prepared(vector), units_of(vector))] == expected(vector)


INVALID = [vector for vector in TO_BROKER if expected(vector)[-1:] and expected(vector)[-1][0] == "F0"]


@pytest.mark.parametrize("vector", INVALID, ids=[vector["name"] for vector in INVALID])
def test_what_is_invalid_is_the_end_of_its_client_alone(vector: dict[str, Any]) -> None:
    """On a whole bus: told by F, closed with 1002, counted once; a neighbour notices nothing (reading 20)."""
    bus = make_bus()
    neighbour, client = greeted(bus), greeted(bus) if "after" in vector else Client(bus)
    assert [key(answer) for answer in client.say(*units_of(vector))] == expected(vector)
    assert [call.partition(" ")[0] + call[-5:] for call in client.link.calls] == ["lose 1002"]
    assert sum(bus.traffic_of("umq").drops.values()) == 1
    assert neighbour.ask("1", "list") == ["R1:[]"]


@pytest.mark.parametrize(
    ("name", "event"), [("topic_update", Updated("topic", b"update1")), ("topic_close", TopicClosed("topic"))]
)
def test_the_client_understands(name: str, event: Event) -> None:
    """What a broker sends it, under the id that it has chosen."""
    end = client()
    id = codec.encode_id(end.peer.expect_topic("topic")).decode()
    assert end.hear(*(unit.replace("9A8Z", id) for unit in texts_of(BY_NAME[name]))) == [event]
    assert end.sent() == []


def test_the_broker_sends_what_the_client_should_get() -> None:
    """To the letter."""
    end = server()
    end.peer.open_topic(TOPIC, "topic")
    end.peer.update(TOPIC, b"update1")
    end.peer.close_topic(TOPIC)
    assert end.sent() == [*texts_of(BY_NAME["topic_update"]), *texts_of(BY_NAME["topic_close"])]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_what_can_be_read_is_written_the_same(vector: dict[str, Any]) -> None:
    """But for zeros that say nothing, and for the exception of a later peer (readings 1, 2, 7, 22)."""
    for text in texts_of(vector):
        try:
            command = codec.decode(text.encode(), 1000)
        except codec.Fault:
            assert vector["reply"][0].startswith("F0:")
            continue
        written = codec.encode(*command).decode()
        assert codec.decode(written.encode(), 1000) == command
        if vector["name"] not in OTHERWISE_WRITTEN:
            assert written == text


OTHERWISE_WRITTEN = {
    "hello_zero",
    "call_leading_zeros",
    "attachment_count_zero",
    "rpc_error_extension",
    "attribute_set_spaces",
    "fatal_from_client",
}
