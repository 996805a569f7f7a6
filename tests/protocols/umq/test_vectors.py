"""Does the peer answer every vector as it should? (the vectors say where each comes from)"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.events import Called, Greeted, TopicClosed, Updated
from fmqbus.testing.umq import End, Unit, client, server

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "vectors" / "umq.json").read_text())["vectors"]
TO_BROKER = [vector for vector in VECTORS if vector["direction"] == "client->broker"]
TO_CLIENT = [vector for vector in VECTORS if vector["direction"] == "broker->client"]
TOPIC = codec.parse_id("9A8Z")


def units_of(vector: dict[str, Any]) -> list[Unit]:
    """The messages of a vector."""
    units: list[Unit] = [vector["text"]] if vector["text"] or "binary" not in vector else []
    for unit in vector.get("binary", ()):
        try:
            units.append(bytes.fromhex(unit))
        except ValueError:
            units.append(unit)
    return units


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
    by_name = {vector["name"]: vector for vector in TO_BROKER}

    def answers(name: str) -> list[tuple[str, str]]:
        vector = by_name[name]
        return [key(answer) for answer in heard(prepared(vector), units_of(vector))]

    assert answers("second_hello") == [("F0", "3")]
    assert answers("call_in_flight_id") == [("E7", "3")]
    assert answers("attachments_interleaved") == [("E124", "7"), ("E123", "7")]
    assert answers("attachment_count_base36") == []


def test_the_client_understands() -> None:
    """What a broker sends it."""
    for vector, event in zip(TO_CLIENT, (Updated("topic", b"update1"), TopicClosed("topic")), strict=True):
        end = client()
        end.peer._expected[TOPIC] = "topic"  # its own ids begin at 1
        assert end.hear(*units_of(vector)) == [event]
        assert end.sent() == []
