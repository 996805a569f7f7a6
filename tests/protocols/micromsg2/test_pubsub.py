"""Can a client say what it wants to receive? (MicroMsg2, PUB/SUB)"""

from __future__ import annotations

import pytest

from fmqbus.protocols.micromsg2.events import Refused, Subscribe, Unsubscribe
from fmqbus.protocols.micromsg2.filters import Filter
from fmqbus.testing.micromsg2 import End, server
from tests import vectors
from tests.protocols.micromsg2.written import command, error, handshake

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2")}


def subscribing(extensions: bytes = b"pubsub") -> End:
    """A server whose client chose these extensions."""
    end = server()
    end.hear(2 * handshake(extensions))
    end.written()
    return end


@pytest.mark.parametrize("name", [b"pubsub", b"pub-sub", b"pub/sub", b"publish-subscribe", b"PubSub"])
def test_the_extension_has_many_names(name: bytes) -> None:
    """Reading 24."""
    [event] = subscribing(name).hear(VECTORS["cmd_subscribe"].octets)
    assert event == Subscribe(b"topic/domain-events", Filter(), {})


@pytest.mark.parametrize("vector", ["cmd_subscribe_upper", "cmd_large"])
def test_subscribing_is_a_command(vector: str) -> None:
    """Readings 57 and 58: any case; no reply on success."""
    end = subscribing()
    assert end.hear(VECTORS[vector].octets) == [Subscribe(b"topic/t", Filter(), {})]
    assert end.written() == b""


def test_filters_are_arguments() -> None:
    """Reading 59: any number of them, all of which must hold."""
    [event] = subscribing().hear(VECTORS["cmd_subscribe_filter"].octets)
    assert isinstance(event, Subscribe)
    assert [(clause.name, clause.operator, clause.value.text) for clause in event.filter.clauses] == [
        ("age", ">=", "18"),
        ("who", "&", "world"),
    ]


@pytest.mark.parametrize(
    ("arguments", "destination"),
    [
        (b"destination=topic%2Fa", b"topic/a"),
        (b"destination=commands", b"commands"),
        (b"Destination=", b""),
        (b"name=commands", b"commands"),
        (b"topic=a", b"topic/a"),
        (b"topic=topic/a", b"topic/a"),
        (b"queue=a", b"queue/a"),
        (b"queue=queue%2Fa", b"queue/a"),
        (b"destination=%ff", b"\xff"),
    ],
)
def test_the_destination_has_many_names(arguments: bytes, destination: bytes) -> None:
    """Reading 56; what it means is the session's business."""
    end = subscribing()
    assert end.hear(command(b"subscribe;" + arguments)) == [Subscribe(destination, Filter(), {})]
    assert end.hear(command(b"unsubscribe;" + arguments)) == [Unsubscribe(destination)]


def test_further_arguments_are_told() -> None:
    """A weight, say."""
    [event] = subscribing().hear(command(b"subscribe;queue=a,Weight=2,filter=a%3DN1"))
    assert isinstance(event, Subscribe)
    assert event.options == {"weight": "2"}


@pytest.mark.parametrize(
    ("text", "reason", "told"),
    [
        (b"subscribe", "destination", b"exactly one destination is needed"),
        (b"subscribe;filter=a%3DN1", "destination", b"exactly one destination is needed"),
        (b"unsubscribe;topic=a,queue=b", "destination", b"exactly one destination is needed"),
        (b"subscribe;topic=a,filter=", "filter", b"not a filter: "),
        (b"subscribe;topic=a,filter=a%3E%3DTx", "filter", b">= is not for text"),
        (b"subscribe;topic=a" + 9_000 * b",filter", "filter-clauses", b"more than 32 filters"),
        (b"subscribe;topic=a,filter=a=T" + 5_000 * b"x", "filter-octets", b"filters of more than 4096 octets"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_the_connection_goes_on(text: bytes, reason: str, told: bytes) -> None:
    """Readings 30 and 57: ERROR on failure."""
    end = subscribing()
    flags = 8 if len(text) > 255 else 0
    assert end.hear(command(text, flags)) == [Refused(reason)]
    assert end.written() == error(told)
    assert end.hear(VECTORS["cmd_subscribe_upper"].octets) == [Subscribe(b"topic/t", Filter(), {})]


def test_without_the_extension_there_is_no_such_command() -> None:
    """Nor is there any other."""
    end = subscribing(b"json")
    assert end.hear(VECTORS["cmd_subscribe"].octets) == [Refused("command")]
    assert end.written() == error(b"unknown command: subscribe")
