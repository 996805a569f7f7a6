"""`fmqbus.transports.length_prefixed`: units on a plain stream."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import FramingLost
from fmqbus.transports.length_prefixed import UnitDecoder, encode_unit
from fmqbus.transports.units import PIECE_OCTETS

UNITS = st.lists(st.tuples(st.just(False), st.text().map(str.encode)) | st.tuples(st.just(True), st.binary()))


def encoded(is_binary: bool, octets: bytes) -> bytes:
    """A unit in one piece."""
    return b"".join(encode_unit(is_binary, octets))


@given(UNITS, st.data())
def test_units_come_out_as_they_went_in(units: list[tuple[bool, bytes]], data: st.DataObject) -> None:
    """However the octets are cut."""
    octets = b"".join(encoded(*unit) for unit in units)
    decoder, heard = UnitDecoder(1000), []
    while octets:
        cut = data.draw(st.integers(1, len(octets)))
        heard += decoder.feed(octets[:cut])
        octets = octets[cut:]
    assert heard == units
    assert decoder.held == 0


def test_a_unit_has_its_kind_and_its_length_before_it() -> None:
    """One octet and four."""
    assert encoded(False, b"hello") == b"\0\0\0\0\5hello"
    assert encoded(True, b"\xff") == b"\1\0\0\0\1\xff"


@pytest.mark.parametrize("length", [0, 1, PIECE_OCTETS, PIECE_OCTETS + 1, 3 * PIECE_OCTETS])
def test_a_large_unit_is_encoded_in_pieces(length: int) -> None:
    """None is much longer than the others, and none is empty."""
    pieces = list(encode_unit(True, bytes(length)))
    assert b"".join(pieces)[5:] == bytes(length)
    assert min(map(len, pieces)) > 0
    assert max(map(len, pieces)) <= PIECE_OCTETS + 5


def test_what_has_come_of_a_unit_is_told() -> None:
    """Also where others have come before it in the same read."""
    decoder = UnitDecoder(1000)
    assert list(decoder.feed(encoded(True, b"whole") + encoded(True, b"half")[:7])) == [(True, b"whole")]
    assert decoder.held == 7


@pytest.mark.parametrize(
    "octets",
    [
        b"\2\0\0\0\0",
        b"\xff\0\0\0\1",
        b"\1\0\0\3\xe9",
        b"\1\xff\xff\xff\xff",
        encoded(False, b"\xff"),
        encoded(False, b"\xc3"),
    ],
)
def test_what_is_no_unit_ends_the_conversation(octets: bytes) -> None:
    """A kind that there is not, a length beyond the limit before any of it has come, and text that is none."""
    decoder, heard = UnitDecoder(1000), []
    with pytest.raises(FramingLost):
        for unit in decoder.feed(encoded(True, bytes(1000)) + octets):
            heard.append(unit)  # what came before the fault counts
    assert heard == [(True, bytes(1000))]
