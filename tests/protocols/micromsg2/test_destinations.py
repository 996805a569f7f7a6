"""What does a destination mean? (MicroMsg2, MESSAGE frame)"""

from __future__ import annotations

import pytest

from fmqbus.errors import InvalidName
from fmqbus.protocols.micromsg2.destinations import Destination, parse


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"topic/domain-events", Destination(True, b"domain-events")),
        (b"topic/a/*", Destination(True, b"a/*")),
        (b"/topic//a/b/", Destination(True, b"a/b")),
        (b"topic/topic/a", Destination(True, b"topic/a")),
        (b"commands", Destination(False, b"commands")),
        (b"queue/commands", Destination(False, b"commands")),
        (b"//queue/commands//", Destination(False, b"commands")),
        (b"queue/topic/a", Destination(False, b"topic/a")),
        (b"queue/queue/a", Destination(False, b"queue/a")),
        (b"a/b", Destination(False, b"a/b")),
        (b"topic", Destination(False, b"topic")),
        (b"Topic/a", Destination(False, b"Topic/a")),
        (b"", Destination(False, b"the default")),
    ],
)
def test_a_destination_is_a_topic_or_a_queue(written: bytes, meant: Destination) -> None:
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
