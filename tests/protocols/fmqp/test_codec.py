"""Do octets and packets mean each other, however a stream is cut? (FMQP, section Packets format)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.model import SINGLY_ROUTE, Message, Route
from fmqbus.protocols.fmqp.codec import (
    CACHE,
    HEADER_OCTETS,
    LAST_WILL,
    WIRE,
    Decoder,
    Oversize,
    Packet,
    encode,
)
from tests import vectors
from tests.fuzz import fmqp_decoder
from tests.fuzz.fmqp_decoder import BODY_LIMIT
from tests.protocols.fmqp.packets import SUBSCRIPTION, packet, split

LIMIT = 16 * 1024 * 1024

VECTORS = {vector.name: vector for vector in vectors.load("fmqp")}
#: Those that say other than whole packets within the limit.
UNFINISHED = {"truncated_at_close", "oversize_length"}
WHOLE = [vector for name, vector in VECTORS.items() if name not in UNFINISHED]


class Alone(dict[bytes, Route]):
    """Knows no topic that could take the fast lane: every packet leaves as it came."""

    def __missing__(self, topic: bytes) -> Route:
        return SINGLY_ROUTE


def feed(*pieces: bytes) -> list[Packet | Oversize]:
    """All that a new decoder makes of the pieces, packet by packet."""
    decoder = Decoder(LIMIT)
    return [event for piece in pieces for event in decoder.feed(piece, Alone())]


def as_written(octets: bytes) -> Packet:
    """The packet in these octets, read by hand."""
    topic_octets = octets[1]
    return Packet(octets[0], octets[6 : 6 + topic_octets], octets[6 + topic_octets :])


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_every_vector_means_its_packets_and_they_mean_its_octets(vector: vectors.Vector) -> None:
    """FMQP, section Packets format; reading 1: bit 0 of the drawing is the most significant one."""
    packets = feed(vector.octets)
    assert packets == [as_written(octets) for octets in split(vector.octets)]
    assert b"".join(encode(p.flags, p.topic, p.body) for p in packets) == vector.octets


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_every_vector_survives_any_cut(vector: vectors.Vector) -> None:
    """Octet by octet, in two pieces, and twice in one."""
    octets, packets = vector.octets, feed(vector.octets)
    assert feed(*(octets[at : at + 1] for at in range(len(octets)))) == packets
    for at in range(len(octets) + 1):
        assert feed(octets[:at], octets[at:]) == packets
    assert feed(2 * octets) == 2 * packets


@pytest.mark.parametrize(
    ("octets", "flags"),
    [("80", SUBSCRIPTION), ("c0", 0xC0), ("20", 0x20), ("10", 0x10), ("08", LAST_WILL), ("04", CACHE), ("03", 0x03)],
)
def test_the_flags_are_counted_from_the_most_significant_bit(octets: str, flags: int) -> None:
    """FMQP, section Packets format, figure; reading 1. Topic length and body length follow, the latter big-endian."""
    assert feed(bytes.fromhex(octets + "01" + "00000102" + "61") + bytes(0x102)) == [Packet(flags, b"a", bytes(0x102))]


def test_a_packet_that_is_not_whole_yet_is_held_and_nothing_else() -> None:
    """Reading 52: so at the end of the connection it is gone."""
    octets = VECTORS["truncated_at_close"].octets
    decoder = Decoder(LIMIT)
    for at in range(len(octets)):
        assert list(decoder.feed(octets[at : at + 1], Alone())) == []
        assert decoder.held == at + 1
    assert decoder.packets == 0


def test_a_topic_of_256_octets_cannot_be_written() -> None:
    """FMQP, section Topics: one octet tells the length."""
    assert encode(0, 255 * b"a") == packet(0, 255 * b"a")
    with pytest.raises(Exception, match="255"):
        encode(0, 256 * b"a")


def test_the_format_says_messages_and_leaves_out_empty_ones() -> None:
    """FMQP, section Empty messages; reading 16: the cache and last-will bits are handed on."""
    messages = [
        Message(b"a", b"1"),
        Message(b"b", b"2", retain=True),
        Message(b"c", b"3", will=True),
        Message(b"d", b"4", retain=True, will=True),
    ]
    octets = WIRE.encode([*messages[:2], Message(b"empty", b""), *messages[2:]])
    assert list(split(octets)) == [
        packet(flags, topic, body)
        for flags, topic, body in [(0, b"a", b"1"), (CACHE, b"b", b"2"), (LAST_WILL, b"c", b"3"), (0x0C, b"d", b"4")]
    ]
    assert list(WIRE.decode(octets)) == messages


# too large


def test_a_packet_at_the_limit_is_read_and_one_above_it_is_skipped() -> None:
    """Reading 5."""
    decoder = Decoder(8)
    stream = (
        packet(0, b"a", bytes(8)) + packet(0, b"bb", bytes(9)) + packet(0x84, b"c", bytes(99)) + packet(0, b"d", b"x")
    )
    assert list(decoder.feed(stream, Alone())) == [
        Packet(0, b"a", bytes(8)),
        Oversize(2, 9),
        Oversize(1, 99),
        Packet(0, b"d", b"x"),
    ]
    assert decoder.packets == 4


def test_what_has_not_been_looked_at_is_told_with_each_packet() -> None:
    """Who asks for one at a time has not to wait for a turn that nobody needs."""
    decoder = Decoder(LIMIT)
    first, second = packet(SUBSCRIPTION, b"a", b""), packet(SUBSCRIPTION, b"bb", b"")
    assert [decoder.unread for _ in decoder.feed(first + second, Alone())] == [len(second), 0]


def test_an_announcement_of_4_gib_holds_nothing() -> None:
    """Reading 5: however much of it comes."""
    decoder = Decoder(LIMIT)
    assert list(decoder.feed(VECTORS["oversize_length"].octets, Alone())) == [Oversize(1, 0xFFFF_FFFF)]
    for _ in range(100):
        assert list(decoder.feed(bytes(65_536), Alone())) == []
        assert decoder.held == 0


@pytest.mark.parametrize("at", range(1, 40))
def test_a_packet_too_large_is_skipped_wherever_it_is_cut(at: int) -> None:
    """Reading 5: within its header, its topic, its body; the next packet is read."""
    octets = packet(0, b"topic", bytes(30)) + packet(0, b"a", b"next")
    decoder = Decoder(8)
    events = [event for piece in (octets[:at], octets[at:]) for event in decoder.feed(piece, Alone())]
    assert events == [Oversize(5, 30), Packet(0, b"a", b"next")]


# any stream

topics = st.sampled_from(
    [b"", b"/", b"a", b"/a", b"b/c", b"*", b"\xff", b"a\0", b"longer/topic", b"$/info/clients", 255 * b"a"]
)
bodies = st.sampled_from(
    [b"", b"x", b"\0\1\0\0\0\1ax", packet(0, b"a", b"x"), BODY_LIMIT * b"y", (BODY_LIMIT + 1) * b"z"]
)
flags = st.just(0) | st.integers(0, 0xFF)
#: Packets, many of them in runs of equal headers.
streams = st.lists(
    st.builds(lambda count, *parts: count * packet(*parts), st.sampled_from([1, 1, 1, 2, 3, 40]), flags, topics, bodies)
).map(b"".join)


@st.composite
def cut_streams(draw: st.DrawFn) -> list[bytes]:
    """A stream of packets in pieces; some may be empty, and the last packet unfinished."""
    stream = draw(streams)
    stream = stream[: draw(st.integers(0, len(stream)))] if draw(st.booleans()) else stream
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(cut_streams())
def test_any_stream_cut_anywhere_gives_each_receiver_what_a_plain_reading_gives(pieces: list[bytes]) -> None:
    """The decoder gathers runs, so the order over all receivers is free. That of each receiver and topic is not."""
    whole = list(fmqp_decoder.plain_reading(b"".join(pieces)))
    assert fmqp_decoder.by_receiver(fmqp_decoder.decoded(pieces)) == fmqp_decoder.by_receiver(whole)


@given(cut_streams())
def test_what_is_held_is_the_unfinished_packet_and_all_packets_are_counted(pieces: list[bytes]) -> None:
    """Nothing of a packet too large is ever held."""
    decoder, read = Decoder(BODY_LIMIT), b""
    for piece in pieces:
        for _ in decoder.feed(piece, fmqp_decoder.Routes()):
            pass
        read += piece
        assert decoder.held == unfinished(read)
        assert decoder.packets == len(list(fmqp_decoder.plain_reading(read)))


def unfinished(octets: bytes) -> int:
    """How many octets a stream has behind its last whole packet; none where they are being skipped."""
    while len(octets) >= HEADER_OCTETS:
        body_octets = int.from_bytes(octets[2:6], "big")
        end = HEADER_OCTETS + octets[1] + body_octets
        if end > len(octets):
            return 0 if body_octets > BODY_LIMIT else len(octets)
        octets = octets[end:]
    return len(octets)


@given(cut_streams())
def test_routes_count_what_took_the_fast_lane(pieces: list[bytes]) -> None:
    """Messages and octets, header included; whatever had flags, no body or too much of it is not counted there."""
    decoder, routes = Decoder(BODY_LIMIT), fmqp_decoder.Routes()
    for piece in pieces:
        for _ in decoder.feed(piece, routes):
            pass
    expected: dict[bytes, list[int]] = {}
    for event in fmqp_decoder.plain_reading(b"".join(pieces)):
        if fmqp_decoder.witnesses(event)[-1:] != (fmqp_decoder.SINGLY,):
            count = expected.setdefault(event.topic, [0, 0])
            count[0] += 1
            count[1] += HEADER_OCTETS + len(event.topic) + len(event.body)
    counted = {topic: [route.messages, route.octets] for topic, route in routes.items() if route.messages}
    assert counted == expected
