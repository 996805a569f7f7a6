"""What does an FMQP client write? Packets by their names, so that tests read as a conversation.

Made from the specification (FMQP, section Packets format) and nothing of ours: the codec is under test as well.
"""

from __future__ import annotations

from collections.abc import Iterator

# Bit 0 of the specification's drawing is the most significant one.
SUBSCRIPTION, UNSUBSCRIBE, FEEDBACK, DEBUG, LAST_WILL, CACHE = 0x80, 0x40, 0x20, 0x10, 0x08, 0x04
#: Has no name in the specification.
UNNAMED = 0x03


def packet(flags: int, topic: bytes, body: bytes = b"") -> bytes:
    """Any packet: flags, one octet of topic length, four of body length, topic, body."""
    return bytes([flags, len(topic)]) + u32(len(body)) + topic + body


def publication(topic: bytes, body: bytes, flags: int = 0) -> bytes:
    """Publish, and what subscribers get of it."""
    return packet(flags, topic, body)


def subscribe(topic: bytes, flags: int = 0) -> bytes:
    """Subscribe in the regular topic system."""
    return packet(SUBSCRIPTION | flags, topic)


def unsubscribe(topic: bytes, flags: int = 0) -> bytes:
    """Undo `subscribe`."""
    return packet(SUBSCRIPTION | UNSUBSCRIBE | flags, topic)


def watch(topic: bytes) -> bytes:
    """Subscribe in the feedback system."""
    return packet(SUBSCRIPTION | FEEDBACK, topic)


def unwatch(topic: bytes) -> bytes:
    """Undo `watch`."""
    return packet(SUBSCRIPTION | UNSUBSCRIBE | FEEDBACK, topic)


def feedback(topic: bytes, subscribers: int) -> bytes:
    """What the broker tells of a topic's subscribers: their number, or nothing when the last has gone."""
    return packet(FEEDBACK, topic, u64(subscribers) if subscribers else b"")


def u32(number: int) -> bytes:
    """Four octets, big-endian."""
    return number.to_bytes(4, "big")


def u64(number: int) -> bytes:
    """Eight octets, big-endian: the payload of the service topics."""
    return number.to_bytes(8, "big")


def split(octets: bytes) -> Iterator[bytes]:
    """Take a stream apart into its packets, each with its octets as they are. The stream must end with one."""
    while octets:
        end = 6 + octets[1] + int.from_bytes(octets[2:6], "big")
        assert len(octets) >= max(end, 6), f"the stream ends within a packet: {octets!r}"
        yield octets[:end]
        octets = octets[end:]
