"""Does the peer answer every vector as it should? (the vectors say where each comes from)"""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.events import Called, Event, Greeted, TopicClosed, Updated
from fmqbus.testing.umq import End, Unit, client, server
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


@pytest.mark.parametrize("vector", TO_BROKER, ids=[vector["name"] for vector in TO_BROKER])
def test_the_broker_answers(vector: dict[str, Any]) -> None:
    """Letter, id and code are the vector's; text is free."""
    answers = heard(prepared(vector), units_of(vector))
    if (expected := vector.get("reply")) is not None:
        assert [key(answer) for answer in answers] == [key(answer) for answer in expected]


def key(answer: Unit) -> tuple[str, str]:
    """What of an answer is not free."""
    assert isinstance(answer, str)
    head, _, payload = answer.partition(":")
    return head, payload.partition(" ")[0] if head[0] in "FE" else ""


def test_those_without_an_answer_of_their_own() -> None:
    """What the vectors leave open, as the readings have it (6, 11, 18, 24)."""

    def answers(name: str) -> list[tuple[str, str]]:
        vector = BY_NAME[name]
        return [key(answer) for answer in heard(prepared(vector), units_of(vector))]

    assert answers("second_hello") == [("F0", "3")]
    assert answers("call_in_flight_id") == [("E7", "3")]
    assert answers("attachments_interleaved") == [("E124", "7"), ("E123", "7")]
    assert answers("attachment_count_base36") == []


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
