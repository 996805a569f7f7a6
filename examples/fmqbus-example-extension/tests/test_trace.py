"""Does an id reach those who want to know it, with just its message?"""

from __future__ import annotations

import pytest
from fmqbus_trace import ID, TRACE

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.protocols.micromsg2.codec import encode_extension
from fmqbus.protocols.micromsg2.events import Refused
from fmqbus.testing.contracts.micromsg2_extension import MicroMsg2ExtensionContract
from fmqbus.testing.micromsg2 import BUILT_IN, Pair, messages_of


class TestContract(MicroMsg2ExtensionContract):
    """What the bus expects of every extension."""

    properties = "max-octets=36"

    def make_extension(self) -> IMicroMsg2Extension:
        return TRACE


def pair(required: str = "x-trace") -> Pair:
    return Pair(required, [*BUILT_IN, TRACE])


def test_an_id_goes_with_its_message_only() -> None:
    """The next one has its own, or none."""
    both = pair()
    for trace in ("a", "", "b"):
        both.client.connection.send(b"queue/work", b"", {ID: trace})
    assert [message.annotations for message in messages_of(both.talk())] == [{ID: "a"}, {}, {ID: "b"}]


def test_those_who_did_not_choose_it_get_the_message_alone() -> None:
    """They would not know what to make of it."""
    both = pair("json")
    both.client.connection.send(b"queue/work", b"1", {ID: "a"})
    [message] = messages_of(both.talk())
    assert (message.payload, message.annotations) == (b"1", {})


@pytest.mark.parametrize(
    ("required", "agreed"),
    [("x-trace:max-octets=36", "36"), ("x-trace:max-octets=1000", "64")],
)
def test_both_ends_agree_on_the_smaller_length(required: str, agreed: str) -> None:
    """Ours is 64."""
    both = pair(required)
    assert both.server.connection.agreed[0].properties == {"max-octets": agreed}


@pytest.mark.parametrize("payload", [b"", b"12345", b"\xff"])
def test_what_is_no_id_is_refused(payload: bytes) -> None:
    """And the messages go on."""
    both = pair("x-trace:max-octets=4")
    assert both.server.hear(b"".join(encode_extension(1, payload))) == [Refused("trace")]
    both.client.connection.send(b"queue/work", b"", {ID: "1234"})
    both.client.connection.send(b"queue/work", b"", {ID: "12345"})
    assert [message.annotations for message in messages_of(both.talk())] == [{ID: "1234"}, {}]
