"""Are field tables read as AMQP's are, only as far as somebody asks, and within bounds?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.mtl.codec import decode
from fmqbus.protocols.mtl.commands import Content
from fmqbus.protocols.mtl.field_table import FieldArray, FieldTable, Value, write_table
from tests.protocols.mtl.written import VECTORS

#: Written by another library for AMQP, pamqp 4.0.
FOREIGN = bytes.fromhex(
    "01617401036269676c0000010000000000016444020000013a0166663fc00000016c410000000c6201530000000374776f7400016e62fb"
    "017353000000047465787401744600000008016b53000000017602746d5400000000695735a501765601787800000002ff00"
)


def plain(value: Any) -> Any:
    """All of it, as plain Python."""
    match value:
        case FieldTable():
            return {name: plain(item) for name, item in value.items()}
        case FieldArray():
            return [plain(item) for item in value]
    return value


def test_the_properties_of_the_vectors_are_text_a_number_and_a_truth() -> None:
    """(MTL, Field Encodings; reading 32)"""
    content = decode(VECTORS["content_table"].parts, DEFAULT_LIMITS)
    assert isinstance(content, Content)
    assert FieldTable(content.properties) == {"type": "text/plain", "prio": 5, "x": True}
    assert write_table(FieldTable(content.properties)) == content.properties


def test_tables_of_others_are_read() -> None:
    """AMQP's implementations agree on the types. (reading 32)"""
    table = FieldTable(FOREIGN)
    assert len(table) == 11
    assert plain(table) == {
        "a": True,
        "n": -5,
        "big": 2**40,
        "f": 1.5,
        "d": Decimal("3.14"),
        "s": "text",
        "x": b"\xff\x00",
        "tm": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "v": None,
        "t": {"k": "v"},
        "l": [1, "two", False],
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("74 02", True),
        ("62 ff", -1),
        ("42 ff", 255),
        ("73 ffff", -1),
        ("55 ffff", -1),
        ("75 ffff", 65535),
        ("49 ffffffff", -1),
        ("69 ffffffff", 2**32 - 1),
        ("6c ffffffffffffffff", -1),
        ("4c ffffffffffffffff", -1),
        ("66 3fc00000", 1.5),
        ("64 3ff8000000000000", 1.5),
        ("44 ff 00000001", Decimal("1e-255")),
        ("44 00 ffffffff", Decimal(-1)),
        ("54 ffffffffffffffff", 2**64 - 1),
        ("53 00000001 ff", b"\xff"),
    ],
)
def test_each_type_has_its_length(written: str, value: object) -> None:
    """What follows is read as what it is. (reading 32)"""
    octets = b"\1a" + bytes.fromhex(written)
    assert dict(FieldTable(octets + b"\1bV")) == {"a": value, "b": None}
    for end in range(1, len(octets)):
        with pytest.raises(PeerError) as refused:
            len(FieldTable(octets[:end]))
        assert refused.value.reason == "table"


@pytest.mark.parametrize("written", ["01", "ff 61 56", "0161", "0161 5a", "0161 53 ffffffff 61", "0161 46 00000001"])
def test_what_is_no_table_is_refused_when_somebody_looks(written: str) -> None:
    """Not before: it is handed on as it is. (reading 32)"""
    table = FieldTable(bytes.fromhex(written))
    assert table.octets == bytes.fromhex(written)
    for ask in (len, list, dict, lambda table: table.get("a"), lambda table: "a" in table):
        with pytest.raises(PeerError):
            ask(table)


def test_what_nobody_asks_for_is_not_read() -> None:
    """A table within a table may be none; whoever does not look into it does not mind."""
    table = FieldTable(b"\1aF\0\0\0\2\xff\xff\1bV")
    assert table["b"] is None
    inner = table["a"]
    assert inner.octets == b"\xff\xff"
    with pytest.raises(PeerError):
        len(inner)


def test_the_last_of_several_with_one_name_counts() -> None:
    """So a filter sees what those see who get the content."""
    assert dict(FieldTable(b"\1at\0\1at\1")) == {"a": True}


def test_nesting_is_bounded_and_costs_only_who_follows_it() -> None:
    """No recursion: a thousand tables in one another are one value. (reading 32)"""
    octets = b""
    for _ in range(1000):
        octets = b"\0F" + len(octets).to_bytes(4, "big") + octets
    limits = Limits(table_depth=3)
    table = FieldTable(octets, limits)
    inner = table[""][""]
    assert len(inner) == 1
    with pytest.raises(PeerError):
        len(inner[""])
    octets = b""
    for _ in range(5):
        octets = b"A" + len(octets).to_bytes(4, "big") + octets
    array = FieldArray(octets, limits)
    with pytest.raises(PeerError):
        len(array[0][0][0])


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_what_others_read_is_written_and_nothing_deeper(wrap: Callable[[Value], Value]) -> None:
    """The table itself is the first."""
    value: Value = None
    for _ in range(DEFAULT_LIMITS.table_depth - 1):
        value = wrap(value)
    assert FieldTable(write_table({"a": value}))
    with pytest.raises(LocalError):
        write_table({"a": wrap(value)})


def test_fields_are_bounded() -> None:
    """Of one table, and of one array."""
    limits = Limits(table_fields=3)
    assert len(FieldTable(b"\1aV\1bV\1cV", limits)) == 3
    with pytest.raises(PeerError):
        len(FieldTable(b"\1aV" * 4, limits))
    assert len(FieldArray(b"VVV", limits)) == 3
    with pytest.raises(PeerError):
        len(FieldArray(b"VVVV", limits))


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, {1, 2}, datetime(1969, 1, 1, tzinfo=UTC), "\ud800", {"a" * 256: 1}]
)
def test_what_has_no_place_in_a_table_is_a_mistake_of_ours(value: object) -> None:
    """It is not cut off in silence."""
    with pytest.raises(LocalError):
        write_table({"a": value})


def test_nothing_is_written_that_others_of_ours_would_not_read() -> None:
    """Nor anything without an end."""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(LocalError):
        write_table({"a": endless})


_texts = st.text(st.characters(codec="utf-8"), max_size=60)
_times = st.datetimes(datetime(1970, 1, 2), datetime(9999, 1, 1)).map(lambda at: at.replace(microsecond=0, tzinfo=UTC))
_numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | _texts | st.binary() | _times,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(_texts, _values))
def test_what_is_written_is_read_as_the_same(fields: dict[str, object]) -> None:
    """And what was read is written as it was."""
    octets = write_table(fields)
    assert plain(FieldTable(octets)) == fields
    assert write_table(FieldTable(octets)) == octets


@given(st.binary(max_size=200) | st.lists(st.sampled_from([b"\1aF\0\0\0", b"\4", FOREIGN])).map(b"".join))
def test_any_octets_are_read_or_refused(octets: bytes) -> None:
    """However deep somebody looks."""
    try:
        plain(FieldTable(octets))
    except PeerError as error:
        reason = error.reason
    else:
        reason = "table"
    assert reason == "table"
