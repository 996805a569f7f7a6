"""Are messages written once for all who get them, and each receiver's numbers put in? (MicroMsg2, MESSAGE frame)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import LocalError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import NOBODY, Message, Publication
from fmqbus.protocols.micromsg2.codec import Decoder, Run
from fmqbus.protocols.micromsg2.frames import Frames, Received
from fmqbus.protocols.micromsg2.wire import WIRE
from tests.protocols.micromsg2.written import CONTINUED, LARGE_PAYLOAD, MIB, message


def written(frames: Frames, first: int = 1) -> bytes:
    return frames.numbered(first, 0, frames.count)


def test_each_receiver_gets_its_own_numbers() -> None:
    """Reading 36: each direction and connection on its own."""
    frames = Frames.of([(b"a", b"", b"1"), (b"b", b"k:v", b"2"), (b"c", b"", b"3")])
    assert written(frames, 65_534) == (
        message(65_534, b"a", b"1") + message(65_535, b"b", b"2", b"k:v") + message(1, b"c", b"3")
    )
    assert written(frames, 7) == message(7, b"a", b"1") + message(8, b"b", b"2", b"k:v") + message(9, b"c", b"3")


def test_some_of_the_frames_can_be_written() -> None:
    """Where the window lets no more through."""
    frames = Frames.of([(b"a", b"", b"1"), (b"b", b"", b"2"), (b"c", b"", b"3")])
    assert frames.numbered(5, 1, 3) == message(5, b"b", b"2") + message(6, b"c", b"3")


@given(st.lists(st.sampled_from([b"", b"1", b"2", 300 * b"p"])), st.integers(1, 65_535))
def test_frames_are_written_alike_whether_they_have_one_size_or_several(payloads: list[bytes], first: int) -> None:
    """Those of one size have a faster lane."""
    frames = Frames.of([(b"d", b"", payload) for payload in payloads])
    assert written(frames, first) == b"".join(
        message((first - 1 + at) % 65_535 + 1, b"d", payload, b"", LARGE_PAYLOAD if len(payload) > 255 else 0)
        for at, payload in enumerate(payloads)
    )


def test_payloads_are_kept_as_they_are() -> None:
    """A fan-out of large messages that waits costs no memory for each receiver."""
    payload = MIB * b"p"
    assert Frames.of([(b"a", b"", payload)]).pieces[-1] is payload


@pytest.mark.parametrize(
    ("octets", "sizes"), [(MIB, [MIB]), (MIB + 1, [MIB, 1]), (2 * MIB, [MIB, MIB]), (2 * MIB + 5, [MIB, MIB, 5])]
)
def test_a_payload_above_one_mib_takes_several_frames(octets: int, sizes: list[int]) -> None:
    """Readings 45, 47 and 48: the first says where it goes, all but the last that it goes on."""
    frames = Frames.of([(b"d", b"k:v", octets * b"p")])
    expected = b""
    for number, size in enumerate(sizes, 1):
        flags = LARGE_PAYLOAD | (CONTINUED if number < len(sizes) else 0)
        destination, properties = (b"d", b"k:v") if number == 1 else (b"", b"")
        expected += message(number, destination, size * b"p", properties, flags)
    assert written(frames) == expected
    assert len(frames) == len(expected)
    assert [m._replace(number=0) for m in frames] == [Received(0, b"d", b"k:v", octets * b"p")]


@pytest.mark.parametrize("too_long", [(256 * b"d", b""), (b"d", 65_536 * b"p")])
def test_what_is_too_long_cannot_be_written(too_long: tuple[bytes, bytes]) -> None:
    """One octet tells a destination's length, two that of properties."""
    with pytest.raises(LocalError):
        Frames.of([(*too_long, b"")])


def test_frames_are_joined_in_order() -> None:
    """Several runs to one receiver take one numbering."""
    parts = [Frames.of([(b"a", b"", b"1"), (b"a", b"", b"2")]), Frames.of([]), Frames.of([(b"b", b"", b"3")])]
    joined = Frames.joined(parts)
    assert written(joined) == message(1, b"a", b"1") + message(2, b"a", b"2") + message(3, b"b", b"3")
    assert (joined.count, len(joined)) == (3, len(written(joined)))
    assert parts[0].count == 2


# the bus's messages

topics = st.text("abc/", min_size=1, max_size=20).map(str.encode)
messages = st.lists(st.builds(Message, topics, st.binary(max_size=300)), min_size=1, max_size=5)


@given(messages)
def test_publications_cross_to_topics_and_back(messages: list[Message]) -> None:
    """Reading 52: ``topic/NAME``."""
    frames = WIRE.encode(messages)
    assert list(WIRE.decode(frames)) == messages
    assert [received.destination for received in frames] == [b"topic/" + message.topic for message in messages]


def test_a_topic_that_is_too_long_for_a_destination_is_left_out() -> None:
    """The bus has topics of 255 octets; ``topic/`` takes six of them."""
    frames = WIRE.encode([Message(250 * b"t", b"1"), Message(249 * b"t", b"2")])
    assert list(WIRE.decode(frames)) == [Message(249 * b"t", b"2")]


def test_a_run_crosses_the_bus_as_it_came() -> None:
    """Its receivers share the pieces it was cut into when it was read; nothing is encoded again."""
    octets = message(8, b"topic/a", b"1", b"k:N1") + message(9, b"topic/a", b"2")
    [run] = Decoder(DEFAULT_LIMITS).feed(octets)
    assert isinstance(run, Run)
    publication = Publication(WIRE, run.frames, run.frames.count, NOBODY, None)
    assert publication.encoded(WIRE) is run.frames
    assert written(publication.encoded(WIRE)) == message(1, b"topic/a", b"1", b"k:N1") + message(2, b"topic/a", b"2")
    assert publication.size == len(octets)
    assert [m.payload for m in publication.messages] == [b"1", b"2"]
    assert publication.messages[0].properties["k"] == "1"


def test_a_message_of_another_protocol_is_encoded_once_for_all() -> None:
    """Encode once per wire format in a fan-out."""
    publication = Publication.of(Message(b"a", b"1", properties={"k": "v"}))
    assert publication.encoded(WIRE) is publication.encoded(WIRE)
    assert written(publication.encoded(WIRE)) == message(1, b"topic/a", b"1", b"k:Tv")
