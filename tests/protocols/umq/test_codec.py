"""Are UMQ's text messages read and written as its grammar says? (UMQ, Text format)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.codec import COMMANDS, Command, Fault

#: Those that can have attachments (reading 10).
WITH_ATTACHMENTS = b"HWCBRTS"


@given(st.sampled_from(sorted(COMMANDS)), st.integers(0, 2**64 - 1), st.binary(max_size=50), st.integers(0, 1000))
def test_what_was_written_is_read_as_it_was(letter: bytes, id: int, payload: bytes, attachments: int) -> None:
    """Whatever the payload holds: the first colon counts (UMQ, Text message format; readings 2, 4, 5)."""
    if letter not in WITH_ATTACHMENTS:
        attachments = 0
    written = codec.encode(letter, id, payload, attachments)
    assert codec.decode(written, 1000) == Command(letter, id, payload, attachments)


@given(st.binary(max_size=30) | st.from_regex(rb"(A[0-9A-Z]*:)?[-A-Z][0-9A-Z]*:?.{0,5}", fullmatch=True))
def test_octets_are_a_command_or_a_fault(octets: bytes) -> None:
    """UMQ, Text message format: nothing else ever happens; and what was read is what is written, but for zeros in front
    (reading 2)."""
    try:
        command = codec.decode(octets, 1000)
    except Fault as fault:
        code = fault.code
    else:
        assert codec.decode(codec.encode(*command), 1000) == command
        return
    assert code in (3, 4)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (b'C1AZ3:["method","arg1"]', Command(b"C", int("1AZ3", 36), b'["method","arg1"]', 0)),
        (b"A3:C1AZ4:x", Command(b"C", int("1AZ4", 36), b"x", 3)),
        (b"A10:C6:x", Command(b"C", 6, b"x", 36)),
        (b"A0:C5:x", Command(b"C", 5, b"x", 0)),
        (b"A:C5:x", Command(b"C", 5, b"x", 0)),
        (b"C00A:x", Command(b"C", 10, b"x", 0)),
        (b"S:key=value", Command(b"S", 0, b"key=value", 0)),
        (b"C" + b"0" * 100_000 + b"7:x", Command(b"C", 7, b"x", 0)),
        (b"C3W5E11264SGSF:x", Command(b"C", 2**64 - 1, b"x", 0)),
        (b"T9A8Z: update1", Command(b"T", int("9A8Z", 36), b" update1", 0)),
        (b"!63:7 No route", Command(b"E", 219, b"7 No route", 0)),
    ],
)
def test_forms_of_one_message(written: bytes, read: Command) -> None:
    """The grammar's corners (UMQ, Text message format, Message ID; readings 1 to 7, 22)."""
    assert codec.decode(written, 1000) == read


@pytest.mark.parametrize(
    ("written", "code"),
    [
        (b"", 3),
        (b"C7", 3),
        (b"C7a:x", 3),
        (b"C 7:x", 3),
        (b"A1:A1:C6:x", 3),
        (b"A1:", 3),
        (b"A1001:C6:x", 3),
        (b"A10000000000:C6:x", 3),
        (b"AZZZZZZZZZZZZZZ:C6:x", 3),
        (b"C3W5E11264SGSG:x", 3),
        (b"C1" + b"0" * 100_000 + b":x", 3),
        (b"H1.0.0\nhello", 3),
        (b"c7:x", 4),
        (b"Q1:x", 4),
        (b"\xff1:x", 4),
        *((b"A1:%c5:x" % letter, 3) for letter in b"-FEDUX"),
    ],
)
def test_what_is_no_message_is_a_fault(written: bytes, code: int) -> None:
    """UMQ, Message ID, Attachment count: with the code that ends the conversation (readings 2, 3, 9, 10, 21)."""
    with pytest.raises(Fault) as raised:
        codec.decode(written, 1000)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("payload", "read"),
    [
        (b"418 I'm teapot", (418, "I'm teapot")),
        (b"I'm teapot", (0, "I'm teapot")),
        (b"7", (7, "")),
        (b"", (0, "")),
        (b"-1 x", (0, "-1 x")),
        (b"1" * 100 + b" x", (0, "1" * 100 + " x")),
        (b"3 \xff", (3, "\N{REPLACEMENT CHARACTER}")),
    ],
)
def test_codes_of_errors_are_read_where_there_are_any(payload: bytes, read: tuple[int, str]) -> None:
    """``CODE TEXT`` (UMQ, Command F, Command E; reading 27)."""
    assert codec.decode_code(payload) == read


def test_an_id_within_a_payload_is_read_as_strictly() -> None:
    """But the conversation goes on where it is none."""
    assert codec.parse_id("9A8Z") == int("9A8Z", 36)
    for text in ("", "a", "A B", "ü", "Z" * 14):
        with pytest.raises(PeerError):
            codec.parse_id(text)
