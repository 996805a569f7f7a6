"""What reaches the application through a client: messages and changes of demand, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

from fmqbus import model, names
from fmqbus.model import NO_PROPERTIES, readable


@attrs.frozen(slots=True)
class Message:
    """One message that a subscription received."""

    topic: str
    payload: bytes
    #: Published to be kept for later subscribers (FMQP: cache flag); so it may be an old one.
    retained: bool = False
    #: The last will of a client that has gone.
    will: bool = False
    #: What was said beside the payload, for protocols that can carry it.
    properties: Mapping[str, str] = NO_PROPERTIES

    @property
    def octets(self) -> int:
        """What it takes in a queue."""
        return len(self.topic) + len(self.payload)


@attrs.frozen(slots=True)
class DemandChange:
    """The number of subscribers to one exact pattern has become this."""

    pattern: str
    #: Debug subscriptions do not count.
    subscribers: int

    @property
    def octets(self) -> int:
        """What it takes in a queue."""
        return len(self.pattern)


def from_bus(messages: Iterable[model.Message]) -> list[Message]:
    """Return the bus's messages as an application sees them."""
    return [Message(names.to_text(m.topic), m.payload, m.retain, m.will, readable(m.properties)) for m in messages]
