"""RFC 7692: compressed messages; above all how little a client can bring about with them."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from wsproto.frame_protocol import Opcode

from fmqbus.limits import Limits
from fmqbus.transports.units import PIECE_OCTETS
from fmqbus.transports.websocket.link import COMPRESSED_FROM
from tests.transports.websocket.client import Client, Close, Server, masked

OFFER = "permessage-deflate; client_max_window_bits"
LIMIT = 1_000_000


def deflated(octets: bytes) -> bytes:
    """As section 7.2.1 has it."""
    compressor = zlib.compressobj(wbits=-15)
    return (compressor.compress(octets) + compressor.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\0\0\xff\xff")


def connect(compression: bool = True, offer: str = OFFER) -> Client:
    """An open connection with a limit of its own."""
    server = Server(limits=Limits(body_octets=LIMIT), compression=compression)
    return server.connect(Sec_WebSocket_Extensions=offer)


def extensions(client: Client) -> str:
    """What was agreed on."""
    lines = client.answer.decode().split("\r\n")
    return "".join(line for line in lines if line.lower().startswith("sec-websocket-extensions"))


def test_compression_is_off_by_default() -> None:
    """Every browser offers it."""
    client = connect(compression=False)
    assert not extensions(client)
    [close] = client.ask(masked(0xC1, deflated(b"hello")))
    assert close.code == 1002


def test_5_1_an_offer_is_accepted_where_compression_is_on() -> None:
    """Of other extensions, none is."""
    assert "permessage-deflate" in extensions(connect())
    assert "bzip2" not in extensions(connect(offer=f"permessage-bzip2, {OFFER}"))
    assert not extensions(connect(offer="permessage-bzip2"))
    assert not extensions(connect(offer="x-webkit-deflate-frame"))


def test_7_1_1_2_clients_are_asked_to_keep_no_context() -> None:
    """A window that outlives a message is memory."""
    assert "client_no_context_takeover" in extensions(connect())


def test_6_2_a_compressed_message_is_heard_inflated() -> None:
    """Text and binary, in one frame or in more, cut anywhere."""
    for cut in (0, 1):
        client = connect()
        text = "hellö " * 2000
        octets = deflated(text.encode())
        middle = len(octets) // 2
        client.say(masked(0xC1, octets), cut)
        client.say(masked(0x42, octets[:middle]) + masked(0x00) + masked(0x80, octets[middle:]), cut)
        assert client.echo.heard == [text, text.encode()]


def test_6_1_control_frames_may_come_between_compressed_fragments() -> None:
    """As between others; they are answered at once."""
    client = connect()
    octets = deflated(b"hello" * 10)
    heard = client.ask(masked(0x41, octets[:4]) + masked(0x89, b"there?") + masked(0x80, octets[4:]))
    assert heard == [(Opcode.PONG, b"there?"), "hello" * 10]


def test_6_2_an_uncompressed_message_is_heard_as_it_is() -> None:
    """Both may be used at any time."""
    client = connect()
    client.say(masked(0x81, b"plain") + masked(0xC1, deflated(b"compressed")) + masked(0x81, b"plain"))
    assert client.echo.heard == ["plain", "compressed", "plain"]


def test_7_2_3_5_an_empty_message_may_be_compressed() -> None:
    """It is one octet then."""
    client = connect()
    client.say(masked(0xC1, b"\0"))
    assert client.echo.heard == [""]


@pytest.mark.parametrize("length", [LIMIT - 1, LIMIT])
def test_10_4_a_message_that_inflates_to_the_limit_is_taken(length: int) -> None:
    """Exactly so long, nothing of it lost."""
    client = connect()
    client.say(masked(0xC2, deflated(bytes(length))))
    assert client.echo.heard == [bytes(length)]


def test_10_4_messages_at_the_limit_can_follow_each_other() -> None:
    """Each counts by itself."""
    client = connect()
    client.say(masked(0xC2, deflated(bytes(LIMIT))) * 3 + masked(0x81, b"hello"))
    assert client.echo.heard == [bytes(LIMIT)] * 3 + ["hello"]


def bombs() -> dict[str, bytes]:
    """Messages that inflate beyond the limit."""
    one_more, huge = deflated(bytes(LIMIT + 1)), deflated(bytes(100 * LIMIT))
    middle = len(one_more) // 2
    return {
        "one octet over": masked(0xC2, one_more),
        "a hundred times over": masked(0xC2, huge),
        "a hundred times over, as text": masked(0xC1, huge),
        "over in two fragments": masked(0x42, one_more[:middle]) + masked(0x80, one_more[middle:]),
        "over in the second fragment": masked(0x42, deflated(bytes(LIMIT)) + b"\0\0\xff\xff")
        + masked(0x80, deflated(b"x")),
        "over in very many fragments": b"".join(
            masked((0x42 if at == 0 else 0x00) | (0x80 if at + 10 >= len(huge) else 0), huge[at : at + 10])
            for at in range(0, len(huge), 10)
        ),
    }


@pytest.mark.parametrize("octets", bombs().values(), ids=bombs())
@pytest.mark.parametrize("cut", [0, 999])
def test_10_4_a_message_that_inflates_beyond_the_limit_is_refused(octets: bytes, cut: int) -> None:
    """Code 1009; nothing of it is heard, and not much more than the limit is ever held."""
    client = connect()
    tracemalloc.start()
    try:
        heard = client.ask(octets, cut)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [one.code for one in heard if isinstance(one, Close)] == [1009]
    assert client.echo.heard == []
    assert peak < 6 * LIMIT + 3 * len(octets)
    assert client.server.listener.held == 0


@pytest.mark.parametrize("excess", [1, 2, 3, 31, 257, 258, 259, 1000, 5000])
@pytest.mark.parametrize("limit", [1000, 1001, 16_384, 100_000])
def test_10_4_no_message_passes_without_its_end(limit: int, excess: int) -> None:
    """Even where zlib has taken all of it and holds back what is beyond the limit."""
    client = Server(limits=Limits(body_octets=limit), compression=True).connect(Sec_WebSocket_Extensions=OFFER)
    heard = client.ask(masked(0xC2, deflated(bytes(limit + excess))))
    assert client.echo.heard == []
    assert [one.code for one in heard] == [1009]


def test_after_a_bomb_nothing_is_inflated_any_more() -> None:
    """Not within the time that is given to the client for its Close either."""
    client = connect()
    client.say(masked(0xC2, deflated(bytes(2 * LIMIT))))
    client.take()
    client.say(masked(0xC2, deflated(bytes(LIMIT))) * 100)
    assert client.take() == b""
    assert client.link.held == 0
    assert client.echo.heard == []


@pytest.mark.parametrize("octets", [b"\xff" * 10, b"\x07", b"x" * 5000], ids=["garbage", "a reserved block", "long"])
def test_7_2_2_what_cannot_be_inflated_is_refused(octets: bytes) -> None:
    """Code 1007."""
    client = connect()
    [close] = client.ask(masked(0xC2, octets))
    assert close.code == 1007


def test_7_2_3_4_a_block_may_say_that_it_is_the_last() -> None:
    """The example of that section."""
    client = connect()
    client.say(masked(0xC1, bytes.fromhex("f348cdc9c9070000")) + masked(0xC1, bytes.fromhex("f248cdc9c90700")))
    assert client.echo.heard == ["Hello", "Hello"]


def test_7_2_2_nothing_follows_the_last_block() -> None:
    """It would never be looked at, and be kept."""
    client = connect()
    heard = client.ask(masked(0x41, bytes.fromhex("f348cdc9c9070000")) + masked(0x00, bytes(1000)) * 100)
    assert [one.code for one in heard] == [1007]


@pytest.mark.parametrize("missing", range(1, 12))
def test_7_2_2_a_message_whose_end_is_missing_is_refused(missing: int) -> None:
    """Not heard in part."""
    client = connect()
    heard = client.ask(masked(0xC2, deflated(bytes(range(200)) * 2)[:-missing]))
    assert client.echo.heard == []
    assert [one.code for one in heard] == [1007]


def test_6_1_only_the_first_frame_says_that_a_message_is_compressed() -> None:
    """A continuation that says so too is refused."""
    [close] = connect().ask(masked(0x42, deflated(b"hello")) + masked(0xC0))
    assert close.code == 1002


def test_6_1_control_frames_are_not_compressed() -> None:
    """Where compression is agreed on."""
    [close] = connect().ask(masked(0xC9, deflated(b"hello")))
    assert close.code == 1002


def test_8_1_inflated_text_is_utf_8() -> None:
    """What counts is what it inflates to."""
    [close] = connect().ask(masked(0xC1, deflated(b"\xff")))
    assert close.code == 1007


@pytest.mark.parametrize("length", [COMPRESSED_FROM - 1, COMPRESSED_FROM, PIECE_OCTETS, PIECE_OCTETS + 1])
@pytest.mark.parametrize("offer", [OFFER, "permessage-deflate; server_max_window_bits=9; server_no_context_takeover"])
def test_7_2_1_what_we_compress_can_be_inflated(length: int, offer: str) -> None:
    """By a window of the size that was agreed on; units that are short or very long are not compressed."""
    client = connect(offer=offer)
    inflater = zlib.decompressobj(-9 if "=9" in offer else -15)
    octets = b"abcdefgh" * (length // 8) + b"x" * (length % 8)
    for _ in range(3):
        client.echo.link.send_binary(octets)
        sent = client.take()
        is_compressed = bool(sent[0] & 0x40)
        assert is_compressed == (COMPRESSED_FROM <= length <= PIECE_OCTETS)
        if is_compressed:
            start = 2 if sent[1] < 126 else 4
            assert len(sent) < length
            assert inflater.decompress(sent[start:] + b"\0\0\xff\xff") == octets
