"""Do octets and handshakes mean each other, however they are cut? (MicroMsg2, Handshake)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.protocols.micromsg2.handshake import Entry, Handshake, decode, encode, parse_entries, write_entries
from tests import vectors
from tests.protocols.micromsg2.written import handshake, u16

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2") if vector.name.startswith("hs_")}
#: Never whole, since a length in it lies.
ENDLESS = "hs_json_dotnet_as_printed"
WHOLE = [vector for name, vector in VECTORS.items() if name != ENDLESS]

MEANT = {
    "hs_minimal": Handshake(),
    "hs_json_dotnet": Handshake(identity=b"hulk", required=(Entry("json"), Entry("dotnet"))),
    "hs_reply_example": Handshake(identity=b"srver", optional=(Entry("batch-ack"),)),
    "hs_reply_echo": Handshake(
        identity=b"fmqbus", required=(Entry("ack", (("MessagesPerAck", "10"), ("AckExpireTime", "1000"))),)
    ),
    "hs_final_example": Handshake(
        identity=b"hulk", required=(Entry("json"), Entry("dotnet")), optional=(Entry("batch-ack"),)
    ),
    "hs_real_client": Handshake(
        minor=1,
        identity=b"probe",
        required=(Entry("ack", (("MessagesPerAck", "10"), ("AckExpireTime", "1000"))),),
    ),
    "hs_trailing_semicolon": Handshake(identity=b"a", required=(Entry("json"),), optional=(Entry("batch-ack"),)),
    "hs_count": Handshake(identity=b"a", optional=(Entry("batch-ack", (("count", "10"),)),)),
    "hs_max_count": Handshake(
        identity=b"a", optional=(Entry("batch-ack", (("max-count", "10"),)), Entry("json"), Entry("microauth"))
    ),
    "hs_max_count_colon": Handshake(identity=b"a", optional=(Entry("batch-ack", (("max-count", "100"),)),)),
    "hs_two_props": Handshake(identity=b"a", optional=(Entry("x-a", (("p1", "v,1"), ("p2", "Hello % w"))),)),
    "hs_unknown_required": Handshake(identity=b"a", required=(Entry("x-nope"),)),
    "hs_unknown_optional": Handshake(identity=b"a", optional=(Entry("x-nope"),)),
    "hs_major_2": Handshake(major=2, identity=b"a"),
    "hs_major_0": Handshake(major=0, identity=b"a"),
    "hs_upper_case_name": Handshake(identity=b"a", required=(Entry("json"),)),
}
#: What we would write otherwise: no last semicolon (reading 7), an equals sign (reading 8), lower case (reading 10).
WRITTEN_OTHERWISE = {"hs_trailing_semicolon", "hs_max_count_colon", "hs_upper_case_name"}


def test_every_vector_of_a_handshake_has_its_meaning_written_down() -> None:
    """One that is added to the file wants a row here."""
    assert MEANT.keys() == VECTORS.keys() - {ENDLESS}


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_every_vector_means_a_handshake_and_that_its_octets(vector: vectors.Vector) -> None:
    """MicroMsg2, Client request, Server reply, End of handshake; readings 4, 5, 7, 8, 9, 10 and 11."""
    assert decode(vector.octets) == (MEANT[vector.name], len(vector.octets))
    if vector.name not in WRITTEN_OTHERWISE:
        assert encode(MEANT[vector.name]) == vector.octets


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_a_handshake_that_is_cut_anywhere_is_not_whole(vector: vectors.Vector) -> None:
    """And what comes behind it is left."""
    for at in range(len(vector.octets)):
        assert decode(vector.octets[:at]) is None
    assert decode(vector.octets + b"more") == (MEANT[vector.name], len(vector.octets))


def test_a_length_that_lies_leaves_the_handshake_waiting() -> None:
    """Reading 1: the length printed in the specification's example."""
    assert decode(VECTORS[ENDLESS].octets) is None


def test_lists_may_have_65535_octets() -> None:
    """Reading 6: lengths are unsigned."""
    name = 65_535 * b"x"
    octets = handshake(name, name, 255 * b"i")
    decoded = decode(octets)
    assert decoded is not None
    assert decoded[0].optional == (Entry(name.decode()),)
    assert encode(decoded[0]) == octets


def test_a_list_that_has_grown_too_long_cannot_be_written() -> None:
    """One that repeats what the other side has written, with octets of ours."""
    with pytest.raises(PeerError):
        encode(Handshake(required=(Entry(65_536 * "x"),)))


def test_a_list_of_more_extensions_than_have_an_index_is_refused() -> None:
    """One octet tells the extension; so thousands of empty entries cost nothing either."""
    assert len(parse_entries(";".join(map(str, range(255))))) == 255
    with pytest.raises(PeerError):
        decode(handshake(300 * b";"))


def test_a_list_of_very_many_properties_is_refused() -> None:
    """They would be kept for as long as the connection lasts, in many times the octets that they came in."""
    assert len(parse_entries("a:" + ",".join(f"p{number}=1" for number in range(256)))[0].properties) == 256
    with pytest.raises(PeerError):
        decode(handshake(b"a:" + 300 * b"p=1,"))


def test_flags_are_ignored_and_written_as_zero() -> None:
    """Reading 4."""
    decoded = decode(bytes([1, 0, 0xFF]) + handshake()[3:])
    assert decoded == (Handshake(), 8)
    assert encode(decoded[0])[2] == 0


def test_identities_are_any_octets() -> None:
    """Reading 5."""
    decoded = decode(handshake(identity=bytes(range(255))))
    assert decoded is not None
    assert decoded[0].identity == bytes(range(255))


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("", ()),
        (";;", ()),
        ("a:", (Entry("a"),)),
        ("a:b", (Entry("a", (("b", ""),)),)),
        ("a:b=c:d=e", (Entry("a", (("b", "c:d=e"),)),)),
        ("a:b:c=d", (Entry("a", (("b:c", "d"),)),)),
        ("a:,b=1,,c=2,", (Entry("a", (("b", "1"), ("c", "2"))),)),
        ("A:Max_Count=1", (Entry("a", (("Max_Count", "1"),)),)),
        ("a:b=1+1%2B1", (Entry("a", (("b", "1+1+1"),)),)),
        ("a:b=%zz%", (Entry("a", (("b", "%zz%"),)),)),
        ("a:b=%ff", (Entry("a", (("b", "\udcff"),)),)),
    ],
)
def test_lists_are_read_leniently(text: str, entries: tuple[Entry, ...]) -> None:
    """MicroMsg2, Extension negotiation; readings 7, 8, 10 and 11: a plus is a plus; octets that are no text survive."""
    assert parse_entries(text) == entries


names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1)
entries = st.lists(
    st.builds(Entry, names, st.lists(st.tuples(names, st.text()), max_size=3).map(tuple)), max_size=5
).map(tuple)


@given(entries)
def test_any_list_is_read_as_it_was_written(entries: tuple[Entry, ...]) -> None:
    """MicroMsg2, Extension negotiation; reading 11: whatever the values are, no sign in them becomes syntax."""
    assert parse_entries(write_entries(entries).decode()) == entries


@given(st.binary(max_size=64))
def test_any_octets_are_a_handshake_or_not_whole_or_refused(octets: bytes) -> None:
    """None is read beyond its end."""
    octets += u16(0)
    try:
        decoded = decode(octets)
    except PeerError:
        return
    assert decoded is None or decoded[1] <= len(octets)
