"""How do topics of the bus cross to MicroMsg2 and back? (MicroMsg2, MESSAGE frame; reading 52)"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fmqbus.model import Message
from fmqbus.protocols.micromsg2 import properties
from fmqbus.protocols.micromsg2.frames import MAX_DESTINATION_OCTETS, Frames

#: What a destination begins with that is a topic.
TOPIC = b"topic/"
_MAX_TOPIC_OCTETS = MAX_DESTINATION_OCTETS - len(TOPIC)


class MicroMsg2Format:
    """`fmqbus.model.WireFormat` of publications: all of each frame but its number, so that a receiver has only to put
    in its own."""

    name = "micromsg2"

    def encode(self, messages: Sequence[Message]) -> Frames:
        """Return the frames of publications; topics of more than 249 octets have no place in a destination and are left
        out."""
        return Frames.of(
            (TOPIC + message.topic, properties.from_bus(message.properties), message.payload)
            for message in messages
            if len(message.topic) <= _MAX_TOPIC_OCTETS
        )

    def decode(self, data: Frames) -> Iterator[Message]:
        """Yield the messages of a run to one topic, as a decoder gave it, or of what `encode` returned."""
        for received in data:
            topic = received.destination[len(TOPIC) :]
            yield Message(topic, received.payload, properties=properties.to_bus(received.properties))


WIRE = MicroMsg2Format()
