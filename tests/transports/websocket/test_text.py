"""RFC 6455, section 8.1: text is UTF-8, wherever it is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.transports.websocket.client import Client, Close, Server, masked

#: Of one, two, three and four octets, at both ends of each; and some that are no characters, but can be written.
VALID = "\x00\x7f\x80\u07ff\u0800\ud7ff\ue000\ufffd\ufffe\uffff\U00010000\U0010ffffstraße".encode()

INVALID = {
    "a continuation without a start": b"\x80",
    "a start without a continuation": b"\xc3 ",
    "two octets for one that needs one": b"\xc0\xaf",
    "three for one that needs two": b"\xe0\x9f\xbf",
    "four for one that needs three": b"\xf0\x8f\xbf\xbf",
    "half of a surrogate pair": b"\xed\xa0\x80",
    "a surrogate pair": b"\xed\xa0\x80\xed\xb0\x80",
    "beyond the last": b"\xf4\x90\x80\x80",
    "five octets": b"\xf8\x88\x80\x80\x80",
    "no octet of text at all": b"\xff",
}


@pytest.fixture
def client() -> Client:
    """An open connection to the echo protocol."""
    return Server().connect()


def test_8_1_any_text_comes_and_goes(client: Client) -> None:
    """In one frame, with one read or many."""
    assert client.ask(masked(0x81, VALID)) == [VALID.decode()]
    assert client.ask(masked(0x81, VALID), cut=1) == [VALID.decode()]


@pytest.mark.parametrize("cut", range(len(VALID) + 1))
def test_8_1_a_character_may_be_cut_between_frames(client: Client, cut: int) -> None:
    """Only the message as a whole has to be text."""
    assert client.ask(masked(0x01, VALID[:cut]) + masked(0x80, VALID[cut:])) == [VALID.decode()]


def test_8_1_each_octet_may_be_in_a_frame_of_its_own(client: Client) -> None:
    """As many frames as octets."""
    bounds = [0, *range(1, len(VALID)), len(VALID)]
    octets = b"".join(masked(0x00 if at else 0x01, VALID[at:end]) for at, end in pairwise(bounds))
    assert client.ask(octets + masked(0x80)) == [VALID.decode()]


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
@pytest.mark.parametrize("padding", [b"", b"x" * 10_000], ids=["short", "long"])
def test_8_1_what_is_no_text_is_refused(client: Client, text: bytes, padding: bytes) -> None:
    """Code 1007, in plain frames and in long ones (reading 45 of UMQ)."""
    [close] = client.ask(masked(0x81, padding + text + b"tail"))
    assert isinstance(close, Close)
    assert close.code == 1007
    assert client.echo.heard == []


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
def test_8_1_what_is_no_text_is_refused_wherever_it_is_cut(text: bytes) -> None:
    """Between frames, too."""
    for cut in range(len(text) + 1):
        client = Server().connect()
        [close] = client.ask(masked(0x01, b"x" + text[:cut]) + masked(0x80, text[cut:] + b"x"))
        assert close.code == 1007


@pytest.mark.parametrize("text", INVALID.values(), ids=INVALID)
@pytest.mark.parametrize("is_fragmented", [False, True])
def test_8_1_a_mistake_is_found_before_the_rest_has_come(client: Client, text: bytes, is_fragmented: bool) -> None:
    """Nobody waits for the end of a long message that cannot be one."""
    begun = masked(0x01, b"x" + text + b"x") if is_fragmented else masked(0x81, b"x" + text + bytes(10_000))[:100]
    [close] = client.ask(begun)
    assert close.code == 1007


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_8_1_a_message_does_not_end_within_a_character(missing: int) -> None:
    """Neither a plain one nor one of fragments."""
    text = "x\U0010ffff".encode()[:-missing]
    for octets in (masked(0x81, text), masked(0x01, text) + masked(0x80)):
        client = Server().connect()
        [close] = client.ask(octets)
        assert close.code == 1007


def test_8_1_binary_messages_need_be_no_text(client: Client) -> None:
    """They are octets, and stay what they are."""
    octets = b"".join(INVALID.values())
    assert client.ask(masked(0x82, octets)) == [octets]
