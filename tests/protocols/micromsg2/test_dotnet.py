"""Does the .NET type of a message reach those who chose to know it? (MicroMsg2, DOTNET)"""

from __future__ import annotations

from fmqbus.model import Message, Publication
from fmqbus.protocols.micromsg2.extensions.dotnet import TYPE
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.properties import to_bus
from fmqbus.testing.micromsg2 import End, server
from tests import vectors
from tests.protocols.micromsg2.written import LARGE_PAYLOAD, extension, handshake, message

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2")}
REPORT = "OneTrueError.Contracts.Reports,OneTrueError.Client"


def typed(extensions: bytes = b"json;dotnet;batch-ack") -> End:
    """A server whose client chose these extensions."""
    end = server()
    end.hear(2 * handshake(extensions))
    end.written()
    return end


def types(end: End, octets: bytes) -> list[str | None]:
    """The types of the messages that come of it."""
    return [event.annotations.get(TYPE) for event in end.hear(octets) if isinstance(event, Received)]


def test_a_type_holds_for_all_messages_until_the_next() -> None:
    """Reading 63; MicroMsg2, DOTNET: the last one, if none came for this message."""
    end = typed()
    octets = message(1) + VECTORS["dotnet_type"].octets + message(2) + message(3) + extension(2, b"B") + message(4)
    assert types(end, octets) == [None, REPORT, REPORT, "B"]


def test_a_type_may_come_in_any_length() -> None:
    """Reading 64: the length octet holds."""
    end = typed()
    assert types(end, extension(2, 300 * b"T", LARGE_PAYLOAD) + message(1)) == [300 * "T"]
    assert types(end, extension(2, b"") + message(2)) == [""]


def test_a_type_is_told_when_it_is_another_one() -> None:
    """Reading 63: right before the message, under the receiver's own index."""
    end = typed(b"pubsub;json;dotnet")
    for name in ("A", "A", "B"):
        end.connection.send(b"d", b"", {TYPE: name})
    end.connection.send(b"d", b"")
    end.connection.send(b"d", b"", {TYPE: "B"})
    assert end.written() == (
        extension(3, b"A")
        + message(1, b"d")
        + message(2, b"d")
        + extension(3, b"B")
        + message(3, b"d")
        + message(4, b"d")
        + message(5, b"d")
    )


def test_a_type_crosses_the_bus_with_its_message() -> None:
    """To a receiver that chose dotnet; another gets the message alone."""
    publisher, knowing, unknowing = typed(), typed(b"dotnet"), typed(b"json")
    [received] = publisher.hear(VECTORS["dotnet_type"].octets + message(1, b"topic/a", b"1", b"k:N1"))
    assert isinstance(received, Received)
    crossed = Message(b"a", b"1", properties=to_bus(received.properties, received.annotations))
    for end in (knowing, unknowing):
        end.connection.deliver([Publication.of(crossed)])
    assert knowing.written() == extension(1, REPORT.encode()) + message(1, b"topic/a", b"1", b"k:N1")
    assert unknowing.written() == message(1, b"topic/a", b"1", b"k:N1")


def test_each_message_of_a_run_is_looked_at() -> None:
    """A run may hold several types."""
    end = typed(b"dotnet")
    messages = tuple(Message(b"a", b"", properties={TYPE: name}) for name in "AAB")
    publication = Publication.of(messages[0])
    publication = Publication(None, b"", 3, publication.targets, None, messages)
    end.connection.deliver([publication])
    assert end.written() == (
        extension(1, b"A")
        + message(1, b"topic/a")
        + message(2, b"topic/a")
        + extension(1, b"B")
        + message(3, b"topic/a")
    )
