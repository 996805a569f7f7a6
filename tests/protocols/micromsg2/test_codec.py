"""Do octets and frames mean each other, however a stream is cut? (MicroMsg2, Frame prefix to EXTENSION frame)"""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import FramingLost
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.codec import (
    Command,
    Decoder,
    Error,
    Event,
    Extension,
    Part,
    Run,
    encode_command,
    encode_error,
    encode_extension,
)
from fmqbus.protocols.micromsg2.frames import Frames, Received
from tests import vectors
from tests.fuzz import micromsg2_decoder
from tests.protocols.micromsg2.written import (
    COMMAND,
    CONTINUED,
    ERROR,
    EXTENSION,
    LARGE_PAYLOAD,
    command,
    error,
    extension,
    message,
)

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2") if not vector.name.startswith("hs_")}
#: Those that are no frames, or end within one.
AMISS = {"two_type_bits", "reserved_bit", "ack_4_as_printed"}
WHOLE = [vector for name, vector in VECTORS.items() if name not in AMISS]

X_300 = 300 * b"x"
TYPE_NAME = b"OneTrueError.Contracts.Reports,OneTrueError.Client"
MEANT: dict[str, list[object]] = {
    "error_frame": [Error("unsupported extension: x-nope")],
    "error_frame_large": [Error(300 * "e")],
    "send_queue": [Received(1, b"commands", b"", b"hello")],
    "send_topic": [Received(1, b"topic/domain-events", b"", b"hello")],
    "send_no_destination": [Received(1, b"", b"", b"hello")],
    "send_props_example": [Received(1, b"commands", b"first_name:jonas;twitter:jgauffin;", b"hi")],
    "send_props_typed": [
        Received(1, b"topic/t", b"age:N42;when:D1413198000.0;who:THello%20%22world%22;", b"hi"),
    ],
    "send_large": [Received(1, b"commands", b"", X_300)],
    "send_large_flag_small_body": [Received(1, b"commands", b"", b"hi")],
    "send_empty_payload": [Received(1, b"commands", b"", b"")],
    "send_continued": [Part(1), Received(2, b"commands", b"k:N1;", b"abcdef")],
    "seq_wrap": [Received(65_535, b"topic/t", b"", b"a"), Received(1, b"topic/t", b"", b"b")],
    "ack_4": [Extension(3, b"\0\4")],
    "ack_wrap": [Extension(3, b"\0\3")],
    "ack_unknown": [Extension(3, b"\x9c\x40")],
    "dotnet_type": [Extension(2, TYPE_NAME)],
    "dotnet_as_printed": [Error(TYPE_NAME.decode())],
    "ext_unknown_index": [Extension(9, b"abc")],
    "cmd_subscribe": [Command("subscribe", (("destination", "topic/domain-events"),))],
    "cmd_subscribe_upper": [Command("subscribe", (("destination", "topic/t"),))],
    "cmd_subscribe_filter": [
        Command("subscribe", (("destination", "topic/t"), ("filter", "age>=N18"), ("filter", "who&Tworld")))
    ],
    "cmd_large": [Command("subscribe", (("destination", "topic/t"),))],
    "cmd_unknown": [Command("frobnicate")],
}


def feed(*pieces: bytes, limits: object = DEFAULT_LIMITS) -> list[object]:
    """All that a new decoder makes of the pieces, message by message."""
    decoder = Decoder(limits)  # type: ignore[arg-type]
    return [single for piece in pieces for event in decoder.feed(piece) for single in singles(event)]


def singles(event: Event) -> list[object]:
    return list(event.frames) if isinstance(event, Run) else [event]


# vectors


def test_every_vector_of_a_frame_has_its_meaning_written_down() -> None:
    """One that is added to the file wants a row here."""
    assert MEANT.keys() | AMISS == VECTORS.keys()


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_every_vector_means_what_it_says_however_it_is_cut(vector: vectors.Vector) -> None:
    """Whole, octet by octet, in two pieces, and twice in one."""
    octets, meant = vector.octets, MEANT[vector.name]
    assert feed(octets) == meant
    assert feed(*(octets[at : at + 1] for at in range(len(octets)))) == meant
    for at in range(len(octets) + 1):
        assert feed(octets[:at], octets[at:]) == meant
    assert feed(2 * octets) == 2 * meant


@pytest.mark.parametrize("name", ["send_queue", "send_topic", "send_no_destination", "send_large", "seq_wrap"])
def test_messages_are_written_as_the_vectors_are(name: str) -> None:
    """MicroMsg2, MESSAGE frame."""
    vector = VECTORS[name]
    messages = [message for message in MEANT[name] if isinstance(message, Received)]
    frames = Frames.of((m.destination, m.properties, m.payload) for m in messages)
    assert frames.numbered(messages[0].number, 0, frames.count) == vector.octets


def test_controls_are_written_as_the_vectors_are() -> None:
    """MicroMsg2, COMMAND frame, EXTENSION frame; readings 26, 27, 28 and 29: there is always an index."""
    assert b"".join(encode_error("unsupported extension: x-nope")) == VECTORS["error_frame"].octets
    assert b"".join(encode_extension(3, b"\0\4")) == VECTORS["ack_4"].octets
    assert b"".join(encode_extension(2, TYPE_NAME)) == VECTORS["dotnet_type"].octets
    for name in ("cmd_subscribe", "cmd_subscribe_filter", "cmd_unknown"):
        [meant] = MEANT[name]
        assert isinstance(meant, Command)
        assert b"".join(encode_command(meant.name, meant.arguments)) == VECTORS[name].octets


# flags


@pytest.mark.parametrize("flags", range(256))
def test_flags_are_known_or_the_frame_is_lost(flags: int) -> None:
    """MicroMsg2, Frame prefix; readings 31, 32 and 46: one type bit at most, no bit without a name, and only messages
    go on. It takes one octet to see."""
    known = {0, CONTINUED} | {COMMAND, EXTENSION, ERROR}
    if flags & ~LARGE_PAYLOAD in known:
        assert feed(bytes([flags])) == []
    else:
        with pytest.raises(FramingLost):
            feed(bytes([flags]))


def test_the_large_flag_widens_the_last_length_only() -> None:
    """Readings 34 and 35, for all kinds of frames; also where the payload is short."""
    large = LARGE_PAYLOAD
    assert feed(message(7, b"d", b"p", b"k:v", large), command(b"c", large), extension(1, b"e", large)) == [
        Received(7, b"d", b"k:v", b"p"),
        Command("c"),
        Extension(1, b"e"),
    ]
    assert feed(error(b"no", large)) == [Error("no")]


@pytest.mark.parametrize(("octets", "flags"), [(255, 0), (256, LARGE_PAYLOAD)])
def test_the_large_flag_is_written_where_it_is_needed(octets: int, flags: int) -> None:
    """Reading 35."""
    payload = octets * b"p"
    assert Frames.of([(b"d", b"", payload)]).numbered(1, 0, 1) == message(1, b"d", payload, b"", flags)
    assert b"".join(encode_extension(1, payload)) == extension(1, payload, flags)


def test_a_message_may_have_no_payload() -> None:
    """Reading 49: it is there at once, not when more comes."""
    for flags in (0, LARGE_PAYLOAD):
        assert feed(message(1, b"d", b"", b"", flags)) == [Received(1, b"d", b"", b"")]
        assert feed(2 * message(1, b"d", b"", b"", flags)) == 2 * [Received(1, b"d", b"", b"")]


# commands and errors


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (b"", Command("")),
        (b"SUBSCRIBE", Command("subscribe")),
        (b" a ;", Command("a")),
        (b"a;b=1,B=2,b=3", Command("a", (("b", "1"), ("B", "2"), ("b", "3")))),
        (b"a;b=c;d=e", Command("a", (("b", "c;d=e"),))),
        (b"a;b=%2C%3B+", Command("a", (("b", ",;+"),))),
        (b"a;b=\xff", Command("a", (("b", "\udcff"),))),
    ],
)
def test_commands_are_read_leniently(text: bytes, meant: Command) -> None:
    """Readings 11, 55 and 58: any case, and repeated keys in their order."""
    assert feed(command(text)) == [meant]


def test_what_we_say_in_an_error_is_short_and_harmless() -> None:
    """Reading 29: below 256 octets, even where it quotes the other side."""
    octets = b"".join(encode_error("bad: \x1b[2J\n" + 300 * "é"))
    assert octets == error((b"bad: ?[2J?" + 300 * b"?")[:255])


# messages in several frames


def test_a_message_in_several_frames_is_one() -> None:
    """Reading 45: destination and properties of the first frame count, the number is that of the last."""
    frames = [
        message(1, b"first", b"a", b"k:v", CONTINUED),
        message(2, b"ignored", b"b", b"i:i", CONTINUED | LARGE_PAYLOAD),
        message(3, b"", b"c"),
        message(4, b"next", b"d"),
    ]
    assert feed(b"".join(frames)) == [
        Part(1),
        Part(2),
        Received(3, b"first", b"k:v", b"abc"),
        Received(4, b"next", b"", b"d"),
    ]


def test_extensions_and_commands_may_come_between_the_frames_of_a_message() -> None:
    """Reading 45."""
    octets = message(1, b"d", b"a", b"", CONTINUED) + extension(1, b"e") + command(b"c") + message(2, b"", b"b")
    assert feed(octets) == [Part(1), Extension(1, b"e"), Command("c"), Received(2, b"d", b"", b"ab")]


def test_a_hundred_thousand_frames_of_nothing_hold_nothing() -> None:
    """What goes on and on is joined as it comes."""
    decoder = Decoder(DEFAULT_LIMITS)
    frames = 1000 * message(1, b"", b"", b"", CONTINUED)
    for _ in range(100):
        assert len(list(decoder.feed(frames))) == 1000
        assert decoder.held == 0
    assert list(decoder.feed(message(2, b"", b"end"))) == [Received(2, b"", b"", b"end")]


# limits

SMALL = attrs.evolve(DEFAULT_LIMITS, body_octets=8, control_octets=8)


@pytest.mark.parametrize(
    "octets",
    [
        message(1, b"d", bytes(9))[:8],
        message(1, b"d", bytes(5), b"", CONTINUED) + message(2, b"", bytes(4))[:7],
        bytes([LARGE_PAYLOAD, 0, 1, 0, 0, 0]) + b"\xff\xff\xff\xff",
        command(9 * b"c")[:2],
        extension(9, 9 * b"e")[:3],
        error(9 * b"e")[:2],
        bytes([COMMAND | LARGE_PAYLOAD]) + b"\xff\xff\xff\xff",
    ],
)
def test_what_is_too_large_is_refused_by_its_length_alone(octets: bytes) -> None:
    """4 GiB that are announced cost nothing: nothing is waited for, and nothing is held."""
    with pytest.raises(FramingLost):
        feed(octets, limits=SMALL)
    with pytest.raises(FramingLost):
        feed(*(octets[at : at + 1] for at in range(len(octets))), limits=SMALL)


def test_what_is_as_large_as_allowed_is_read() -> None:
    """Also in several frames; and a message that is done gives room to the next."""
    octets = 2 * (message(1, b"d", bytes(5), b"", CONTINUED) + message(2, b"", bytes(3))) + command(8 * b"c")
    assert feed(octets, limits=SMALL) == 2 * [Part(1), Received(2, b"d", b"", bytes(8))] + [Command(8 * "c")]


def test_what_came_before_a_lost_frame_is_told() -> None:
    """A message before it in the same segment has come."""
    decoder = Decoder(DEFAULT_LIMITS)
    events = decoder.feed(message(1, b"d", b"p") + b"\xff")
    assert [*next(events).frames] == [Received(1, b"d", b"", b"p")]  # type: ignore[union-attr]
    with pytest.raises(FramingLost):
        next(events)


def test_what_is_held_is_what_is_unfinished() -> None:
    """Frames that are not whole, and payloads of a message that goes on."""
    decoder = Decoder(DEFAULT_LIMITS)
    octets = message(1, b"d", b"abc", b"k:v", CONTINUED)
    for at in range(len(octets) - 1):
        assert list(decoder.feed(octets[at : at + 1])) == []
        assert decoder.held == at + 1
    assert list(decoder.feed(octets[-1:])) == [Part(1)]
    assert decoder.held == 3
    list(decoder.feed(message(2)))
    assert decoder.held == 0


# runs


def test_neighbours_to_one_destination_are_one_run() -> None:
    """Whatever their sizes and properties; one to another destination ends it, and so does all else."""
    octets = [
        message(1, b"a", b"1"),
        message(2, b"a", b"2"),
        message(3, b"a", b"333", b"k:v"),
        message(4, b"a", X_300, b"k:v", LARGE_PAYLOAD),
        message(5, b"b", b"5"),
        extension(1, b"e"),
        message(6, b"b", b"6"),
        message(7, b"b", b"7", b"", CONTINUED),
        message(8, b"", b"8"),
        message(9, b"b", b"9"),
    ]
    events = list(Decoder(DEFAULT_LIMITS).feed(b"".join(octets)))
    shapes = [(e.destination, [m.number for m in e.frames]) if isinstance(e, Run) else type(e) for e in events]
    assert shapes == [
        (b"a", [1, 2, 3, 4]),
        (b"b", [5]),
        Extension,
        (b"b", [6]),
        Part,
        Received,
        (b"b", [9]),
    ]


destinations = st.sampled_from([b"", b"a", b"b", b"topic/a", 255 * b"d"])
properties = st.sampled_from([b"", b"k:v", 300 * b"p"])
payloads = st.sampled_from([b"", b"x", b"yy", b"\0\0\1\0\0\0\0", 255 * b"z"])
frames = st.one_of(
    st.builds(
        lambda count, *said: count * message(*said),
        st.sampled_from([1, 1, 2, 3, 40]),
        st.integers(0, 65_535),
        destinations,
        payloads,
        properties,
        st.sampled_from([0, 0, 0, LARGE_PAYLOAD, CONTINUED]),
    ),
    st.builds(command, st.sampled_from([b"", b"c;k=v"])),
    st.builds(extension, st.integers(0, 255), payloads),
    st.just(error(b"e")),
)


@given(st.lists(frames).map(b"".join), st.integers(0, 300), st.binary(max_size=3))
def test_any_stream_means_what_a_plain_reading_finds_in_it(stream: bytes, missing: int, noise: bytes) -> None:
    """Whole, octet by octet and cut anywhere; unfinished or with octets behind it that may be no frame."""
    micromsg2_decoder.check(stream[: len(stream) - missing] if missing else stream + noise)
