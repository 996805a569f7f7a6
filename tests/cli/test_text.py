"""`fmqbus.cli.text`: what peers choose does nothing to a terminal, and can be read back where that is promised."""

from __future__ import annotations

import base64
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.cli.text import Form, delivery_line, message_line, printable
from fmqbus.client.events import Message
from fmqbus.client.queue_message import Delivery

TOPICS = st.text(min_size=1).filter(lambda text: not any(0xD800 <= ord(char) <= 0xDFFF for char in text))


@pytest.mark.parametrize(
    ("octets", "shown"),
    [
        (b"21.5", "21.5"),
        ("Grüße, 世界 🙂".encode(), "Grüße, 世界 🙂"),
        (b"\x1b[2J\x07", r"\x1b[2J\x07"),
        (b"a\nb\r\tc", r"a\nb\r\tc"),
        (b"\xff\xfe", r"\xff\xfe"),
        ("\u202eevil\u2028".encode(), r"\u202eevil\u2028"),
        ("\x9b31m".encode(), r"\x9b31m"),
    ],
)
def test_what_could_harm_is_shown_by_its_code(octets: bytes, shown: str) -> None:
    """Control characters, octets that are no text, and characters that reorder text."""
    assert printable(octets) == shown


@given(st.binary())
def test_nothing_harmful_is_left(octets: bytes) -> None:
    """Whatever the payload."""
    assert not {unicodedata.category(char) for char in printable(octets)} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(TOPICS, st.binary(), st.sampled_from([Form.TEXT, Form.HEX, Form.JSON]))
def test_a_message_is_one_line(topic: str, payload: bytes, form: Form) -> None:
    """So that a script can read line by line."""
    line = message_line(Message(topic, payload), form, with_topic=True)
    assert line.endswith(b"\n")
    assert len(line.decode().splitlines()) == 1


@given(TOPICS, st.binary())
def test_json_keeps_every_octet(topic: str, payload: bytes) -> None:
    """As text where it is, as base64 where not."""
    fields = json.loads(message_line(Message(topic, payload, retained=True), Form.JSON, with_topic=True))
    assert fields["topic"] == topic
    assert (fields["retained"], fields["will"]) == (True, False)
    if "payload" in fields:
        assert fields["payload"].encode() == payload
    else:
        assert base64.b64decode(fields["payload_base64"]) == payload


def test_a_message_of_a_queue_is_its_payload_or_all_that_is_known_of_it() -> None:
    """The queue is the one that was asked for."""
    delivery = Delivery("q", b"a\n", {"city": "Bern"}, True, 3, lambda outcome, reason: None)
    assert delivery_line(delivery, Form.TEXT) == b"a\\n\n"
    assert delivery_line(delivery, Form.RAW) == b"a\n"
    assert json.loads(delivery_line(delivery, Form.JSON)) == {
        "queue": "q",
        "payload": "a\n",
        "properties": {"city": "Bern"},
        "redelivered": True,
        "deliveries": 3,
    }


@given(st.binary())
def test_hex_and_raw_keep_every_octet(payload: bytes) -> None:
    """Raw is the payload and nothing else."""
    message = Message("a", payload)
    assert bytes.fromhex(message_line(message, Form.HEX, with_topic=False).decode()) == payload
    assert message_line(message, Form.RAW, with_topic=True) == payload
