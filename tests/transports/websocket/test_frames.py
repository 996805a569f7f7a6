"""RFC 6455, section 5: framing; what a frame may be, and what becomes of one that is otherwise."""

from __future__ import annotations

import pytest
from wsproto.frame_protocol import Opcode

from fmqbus.limits import Limits
from fmqbus.transports.websocket.link import PLAIN_OCTETS
from tests.transports.websocket.client import Client, Close, Server, masked

#: Around every length at which the form of a header changes, or the way that a frame takes here.
LENGTHS = [0, 1, 125, 126, 127, PLAIN_OCTETS - 1, PLAIN_OCTETS, PLAIN_OCTETS + 1, 65535, 65536, 200_000]

PROTOCOL_ERROR = 1002


@pytest.fixture
def client() -> Client:
    """An open connection to the echo protocol."""
    return Server().connect()


def failed(heard: list[object], code: int = PROTOCOL_ERROR) -> bool:
    """The last that was heard is a Close with this code."""
    return bool(heard) and isinstance(heard[-1], Close) and heard[-1].code == code


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("is_binary", [False, True])
def test_5_2_a_message_of_any_length_comes_and_goes(client: Client, length: int, is_binary: bool) -> None:
    """Text stays text, and binary binary."""
    message = bytes(length) if is_binary else "x" * length
    assert client.ask(client.frames.send_data(message, fin=True)) == [message]


@pytest.mark.parametrize("length", [0, 1, 126, PLAIN_OCTETS + 1])
def test_5_2_octets_may_be_cut_anywhere(client: Client, length: int) -> None:
    """One at a time brings the same as all at once."""
    message = "ö" * (length // 2)
    assert client.ask(client.frames.send_data(message, fin=True) * 2, cut=1) == [message, message]


def test_5_2_many_messages_may_come_in_one_read(client: Client) -> None:
    """They are answered in order, also across turns of the reactor, and where the read ends within one."""
    messages = [f"message {number}" for number in range(3000)]
    octets = b"".join(client.frames.send_data(message, fin=True) for message in messages)
    assert client.ask(octets, cut=20_000) == messages


@pytest.mark.parametrize("bits", [0x10, 0x20, 0x30, 0x40, 0x70])
@pytest.mark.parametrize("opcode", [0x1, 0x2, 0x8, 0x9, 0xA])
def test_5_2_reserved_bits_are_refused(client: Client, bits: int, opcode: int) -> None:
    """No extension has been agreed on that gives them a meaning."""
    assert failed(client.ask(masked(0x80 | bits | opcode)))


@pytest.mark.parametrize("opcode", [3, 4, 5, 6, 7, 11, 12, 13, 14, 15])
@pytest.mark.parametrize("payload", [b"", b"hello"])
def test_5_2_reserved_opcodes_are_refused(client: Client, opcode: int, payload: bytes) -> None:
    """Whatever they carry."""
    assert failed(client.ask(masked(0x80 | opcode, payload)))


@pytest.mark.parametrize("length", [b"\x7e\x00\x05", b"\x7f" + bytes(7) + b"\x05", b"\x7f" + bytes(6) + b"\x01\x00"])
def test_5_2_a_length_is_written_in_as_few_octets_as_it_can(client: Client, length: bytes) -> None:
    """Otherwise it could be read in two ways."""
    assert failed(client.ask(masked(0x81, bytes(int.from_bytes(length[1:])), length)))


def test_5_2_a_length_of_64_bits_has_a_zero_first(client: Client) -> None:
    """It is below 2 to the 63rd."""
    assert failed(client.ask(masked(0x82, b"", b"\x7f\x80" + bytes(7))))


@pytest.mark.parametrize("payload", [b"", b"hello"])
def test_5_1_a_frame_without_a_mask_is_refused(client: Client, payload: bytes) -> None:
    """Of a client."""
    assert failed(client.ask(bytes([0x81, len(payload)]) + payload))


@pytest.mark.parametrize("mask", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x01\x02\x03\x04"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 1000, 10_000])
def test_5_3_any_mask_is_taken_off(client: Client, mask: bytes, length: int) -> None:
    """Wherever the length ends in it."""
    message = bytes(range(256)) * (length // 256 + 1)
    assert client.ask(masked(0x82, message[:length], mask=mask)) == [message[:length]]


def test_5_1_what_we_send_has_no_mask(client: Client) -> None:
    """A client must refuse one; wsproto does too."""
    client.say(masked(0x81, b"hello"))
    assert client.take() == b"\x81\x05hello"


def test_5_4_fragments_are_one_message(client: Client) -> None:
    """However many there are, empty ones too, and however long."""
    pieces = ["", "a", "", "b" * 126, "c" * 70_000, ""]
    octets = b"".join(client.frames.send_data(piece, fin=False) for piece in pieces)
    assert client.ask(octets + client.frames.send_data("", fin=True)) == ["".join(pieces)]


def test_5_4_a_message_in_fragments_and_whole_ones_take_turns(client: Client) -> None:
    """After a fragmented one, plain ones are plain again."""
    for _ in range(3):
        octets = masked(0x01, b"a") + masked(0x80, b"b") + masked(0x81, b"c") + masked(0x82, b"d")
        assert client.ask(octets) == ["ab", "c", b"d"]


def test_5_4_control_frames_may_come_between_fragments(client: Client) -> None:
    """They are answered at once."""
    octets = masked(0x01, b"a") + masked(0x89, b"there?") + masked(0x8A) + masked(0x80, b"b")
    assert client.ask(octets, cut=1) == [(Opcode.PONG, b"there?"), "ab"]


@pytest.mark.parametrize("first", [0x81, 0x82, 0x01, 0x02])
@pytest.mark.parametrize("payload", [b"", b"hello"])
def test_5_4_no_other_message_may_come_between_fragments(client: Client, first: int, payload: bytes) -> None:
    """Plain or not."""
    assert failed(client.ask(masked(0x01, b"a") + masked(first, payload)))
    assert client.echo.heard == []


@pytest.mark.parametrize("first", [0x80, 0x00])
def test_5_4_a_continuation_continues_something(client: Client, first: int) -> None:
    """At the beginning, and after a message is complete."""
    assert failed(client.ask(masked(0x81, b"a") + masked(first, b"b")))
    assert client.echo.heard == ["a"]


@pytest.mark.parametrize("opcode", [0x8, 0x9, 0xA])
def test_5_5_a_control_frame_is_not_fragmented(client: Client, opcode: int) -> None:
    """Its final bit is set."""
    assert failed(client.ask(masked(opcode)))


@pytest.mark.parametrize("opcode", [0x8, 0x9, 0xA])
def test_5_5_a_control_frame_is_short(client: Client, opcode: int) -> None:
    """125 octets are its bound."""
    assert failed(client.ask(masked(0x80 | opcode, b"\x03\xe8" + b"x" * 124)))


@pytest.mark.parametrize("payload", [b"", b"there?", bytes(range(125))])
def test_5_5_2_a_ping_is_answered_with_what_it_carries(client: Client, payload: bytes) -> None:
    """Each of them, in order."""
    assert client.ask(masked(0x89, payload) + masked(0x89, b"2")) == [(Opcode.PONG, payload), (Opcode.PONG, b"2")]


def test_5_5_3_a_pong_that_nobody_asked_for_is_ignored(client: Client) -> None:
    """It may be a sign of life."""
    assert client.ask(masked(0x8A, b"here I am") + masked(0x81, b"hello")) == ["hello"]


def test_5_5_3_who_does_not_read_pongs_gets_the_latest(client: Client) -> None:
    """They are not heaped up."""
    client.link.pauseProducing()
    assert client.ask(b"".join(masked(0x89, b"%d" % number) for number in range(1000))) == []
    client.link.resumeProducing()
    assert client.hear() == [(Opcode.PONG, b"999")]


@pytest.mark.parametrize("length", [99, 100])
@pytest.mark.parametrize("first", [0x81, 0x82])
def test_10_4_a_message_at_the_limit_is_taken(length: int, first: int) -> None:
    """`Limits.body_octets`, in one frame or in more."""
    client = Server(limits=Limits(body_octets=100)).connect()
    client.say(masked(first, b"x" * length) + masked(first & 0xF, b"x" * 50) + masked(0x80, b"x" * (length - 50)))
    assert [len(one) for one in client.echo.heard] == [length, length]


@pytest.mark.parametrize("octets", [masked(0x81, b"x" * 101), masked(0x02, b"x" * 50) + masked(0x80, b"x" * 51)])
def test_10_4_a_message_over_the_limit_is_refused(octets: bytes) -> None:
    """Code 1009; nothing of it is heard (reading 44 of UMQ)."""
    client = Server(limits=Limits(body_octets=100)).connect()
    assert failed(client.ask(octets), 1009)
    assert client.echo.heard == []


def test_10_4_a_message_over_the_limit_is_refused_by_its_header() -> None:
    """Nobody waits for what has been announced."""
    client = Server().connect()
    header = masked(0x82, b"", b"\x7f" + (2**62).to_bytes(8))
    assert failed(client.ask(header), 1009)
    assert client.server.listener.held == 0


def test_10_4_long_frames_are_bounded_where_the_limit_is_beyond_plain_ones() -> None:
    """At the limit and over it."""
    client = Server(limits=Limits(body_octets=PLAIN_OCTETS * 2)).connect()
    client.say(masked(0x82, bytes(PLAIN_OCTETS * 2)))
    assert len(client.echo.heard) == 1
    assert failed(client.ask(masked(0x82, bytes(PLAIN_OCTETS * 2 + 1))), 1009)


def test_after_a_violation_nothing_is_looked_at_any_more(client: Client) -> None:
    """Section 7.1.7: not even a Close. The stream is read empty, and ends when the client ends it."""
    heard = client.ask(masked(0x83) + masked(0x81, b"more") + masked(0x89, b"?") + masked(0x88))
    assert failed(heard)
    assert len(heard) == 1
    assert client.echo.heard == []
    client.say(bytes(1_000_000))
    assert client.take() == b""
    assert client.is_closing
    client.link.connectionLost()
    assert client.server.listener.connections == []
    assert client.server.clock.getDelayedCalls() == []
