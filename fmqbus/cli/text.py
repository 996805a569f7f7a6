"""How is a message written to a terminal, a pipe, or for a program?

Payloads and topics are the peers' to choose: an escape sequence in one must not reach a terminal, and a line feed
must not make two lines of one message.
"""

from __future__ import annotations

import base64
import enum
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from fmqbus.client.events import Message
from fmqbus.client.queue_message import Delivery

#: Control characters, format characters (which reorder text), separators of lines and paragraphs, surrogates.
_HARMFUL = {"Cc", "Cf", "Zl", "Zp", "Cs"}


class Form(enum.Enum):
    """The ways of writing a payload."""

    TEXT = "text"
    HEX = "hex"
    JSON = "json"
    RAW = "raw"


def printable(octets: bytes) -> str:
    """Return text that does nothing to a terminal: what is not printable UTF-8 is shown by its code, as ``\\x1b``."""
    text = octets.decode("utf-8", "backslashreplace")
    if text.isprintable():
        return text
    return "".join(_code(char) if unicodedata.category(char) in _HARMFUL else char for char in text)


def _code(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def payload_fields(payload: bytes) -> dict[str, str]:
    """Return a payload for JSON: ``payload`` if it is UTF-8, ``payload_base64`` otherwise."""
    try:
        return {"payload": payload.decode("utf-8")}
    except UnicodeDecodeError:
        return {"payload_base64": base64.b64encode(payload).decode("ascii")}


def json_text(fields: Mapping[str, Any]) -> str:
    """Return JSON in one line, ASCII only, so that it too does nothing to a terminal."""
    return json.dumps(dict(fields))


def message_line(message: Message, form: Form, with_topic: bool) -> bytes:
    """Return what is written for one message: one line, but for `Form.RAW`, which is the payload and nothing else."""
    topic = {"topic": message.topic} if with_topic else {}
    flags = {"retained": message.retained, "will": message.will}
    properties = {"properties": dict(message.properties)} if message.properties else {}
    head = f"{printable(message.topic.encode())} " if with_topic else ""
    return _line(message.payload, form, head, topic, flags | properties)


def delivery_line(delivery: Delivery, form: Form) -> bytes:
    """Return what is written for one message of a queue, in the same way."""
    told = {
        "properties": dict(delivery.properties),
        "redelivered": delivery.is_redelivered,
        "deliveries": delivery.deliveries,
    }
    return _line(delivery.payload, form, "", {"queue": delivery.queue}, told)


def _line(payload: bytes, form: Form, head: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> bytes:
    """The payload, with text before it, or with fields before and behind it."""
    if form is Form.RAW:
        return payload
    if form is Form.JSON:
        line = json_text({**before, **payload_fields(payload), **after})
    else:
        line = head + (payload.hex() if form is Form.HEX else printable(payload))
    return line.encode() + b"\n"
