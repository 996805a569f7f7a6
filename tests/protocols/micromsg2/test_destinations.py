"""What does a destination mean? (MicroMsg2, MESSAGE frame)"""

from __future__ import annotations

import pytest

from fmqbus.errors import InvalidName
from fmqbus.protocols.micromsg2.destinations import Destination, Kind, parse


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"topic/domain-events", Destination(Kind.TOPIC, b"domain-events")),
        (b"topic/a/*", Destination(Kind.TOPIC, b"a/*")),
        (b"/topic//a/b/", Destination(Kind.TOPIC, b"a/b")),
        (b"topic/topic/a", Destination(Kind.TOPIC, b"topic/a")),
        (b"commands", Destination(Kind.QUEUE, b"commands")),
        (b"queue/commands", Destination(Kind.QUEUE, b"commands")),
        (b"//queue/commands//", Destination(Kind.QUEUE, b"commands")),
        (b"queue/topic/a", Destination(Kind.QUEUE, b"topic/a")),
        (b"queue/queue/a", Destination(Kind.QUEUE, b"queue/a")),
        (b"a/b", Destination(Kind.QUEUE, b"a/b")),
        (b"topic", Destination(Kind.QUEUE, b"topic")),
        (b"method/kitchen/brew/", Destination(Kind.METHOD, b"kitchen/brew")),
        (b"Topic/a", Destination(Kind.QUEUE, b"Topic/a")),
        (b"", Destination(Kind.QUEUE, b"the default")),
    ],
)
def test_a_destination_is_a_topic_a_queue_or_a_method(written: bytes, meant: Destination) -> None:
    """Reading 52; outer slashes mean nothing, as everywhere on the bus."""
    assert parse(written, b"the default") == meant


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (b"topic/", "topic-empty"),
        (b"queue/", "topic-empty"),
        (b"/", "topic-empty"),
        (b"topic/a\0", "topic-nul"),
        (b"\xff", "topic-utf8"),
        (256 * b"q", "topic-long"),
    ],
)
def test_a_name_that_the_bus_cannot_have_is_refused(written: bytes, reason: str) -> None:
    """Reading 52: names are those of the whole bus."""
    with pytest.raises(InvalidName) as caught:
        parse(written, b"the default")
    assert caught.value.reason == reason
