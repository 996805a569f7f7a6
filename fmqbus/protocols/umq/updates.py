"""How does what the bus tells cross to UMQ? As updates of topics, in JSON; octets that are no text are attached.

An update is encoded once for all who get it; only the id of the topic is each receiver's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fmqbus.model import Interest, Message, StoredMessage, readable
from fmqbus.names import to_text


class Update(NamedTuple):
    """The payload of a ``T``, and what is attached to it."""

    payload: bytes
    attachments: tuple[bytes, ...]


def as_text(payload: bytes) -> str | None:
    """The payload as text, or None if it is none."""
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        return None


def update_of(message: Message, **more: Any) -> Update:
    """A message as an update. Members that say nothing are left out."""
    fields: dict[str, Any] = {**more, "topic": to_text(message.topic)}
    text = as_text(message.payload)
    if text is not None:
        fields["text"] = text
    if message.properties:
        fields["properties"] = readable(message.properties)
    if message.retain:
        fields["retain"] = True
    return Update(msgspec.json.encode(fields), () if text is not None else (message.payload,))


def delivery_of(stored: StoredMessage) -> Update:
    """A message of a queue as an update."""
    more: dict[str, Any] = {"number": stored.number}
    if stored.is_redelivered:
        more["redelivered"] = True
    if stored.deliveries > 1:
        more["deliveries"] = stored.deliveries
    return update_of(stored.message, **more)


def interest_of(interest: Interest) -> Update:
    """A change of the number of subscribers as an update."""
    fields = {"pattern": to_text(interest.pattern), "subscribers": interest.subscribers}
    return Update(msgspec.json.encode(fields), ())


class UMQFormat:
    """`fmqbus.model.WireFormat` of publications: updates, all but the ids of their topics."""

    name = "umq"

    def encode(self, messages: Sequence[Message]) -> Sequence[Update]:
        """Return one update for each message."""
        return [update_of(message) for message in messages]

    def decode(self, data: Sequence[Update]) -> Iterator[Message]:
        """No publication ever comes in this form: clients publish by calls."""
        raise NotImplementedError


WIRE = UMQFormat()
