"""What do the properties of a message say, and do they cross the bus? (MicroMsg2, MESSAGE frame, Filters)"""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.model import AS_WRITTEN, Message
from fmqbus.protocols.micromsg2.frames import MAX_PROPERTIES_OCTETS
from fmqbus.protocols.micromsg2.properties import Value, from_bus, parse_value, to_bus, values_of
from tests import vectors

EXAMPLE = b"first_name:jonas;twitter:jgauffin;"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("N1", Value("1", Decimal(1))),
        ("N-9223372036854775808", Value("-9223372036854775808", Decimal(-(2**63)))),
        ("N+1.50", Value("+1.50", Decimal("1.5"))),
        ("D1413198000.0", Value("1413198000.0", Decimal(1413198000))),
        ("THello%20%22world%22", Value('Hello "world"')),
        ("T42", Value("42")),
        ("T", Value("")),
        ("", Value("")),
        ("jonas", Value("jonas")),
        ("42", Value("42")),
        ("a%3Bb+", Value("a;b+")),
        # reading 51: unavoidable
        ("Tom", Value("om")),
        ("Nora", Value("Nora")),
        ("N", Value("N")),
        ("N1e9", Value("N1e9")),
        ("NNaN", Value("NNaN")),
        ("NInfinity", Value("NInfinity")),
        ("N1.", Value("N1.")),
        ("N\u0661", Value("N\u0661")),
    ],
)
def test_values_are_numbers_dates_or_text(written: str, value: Value) -> None:
    """Readings 51 and 62; MicroMsg2, FILTER_VALUE."""
    assert parse_value(written) == value


@pytest.mark.parametrize(
    ("written", "properties"),
    [
        (EXAMPLE, {"first_name": "jonas", "twitter": "jgauffin"}),
        (
            b"age:N42;when:D1413198000.0;who:THello%20%22world%22;",
            {"age": "42", "when": "1413198000.0", "who": 'Hello "world"'},
        ),
        (b"a:b:c", {"a": "b:c"}),
        (b"Age:N1", {"age": "1"}),
        (b"alone;;a:", {"alone": "", "a": ""}),
        (b"a:1;a:2", {"a": "1"}),
        (b"a:\xff", {"a": "\ufffd"}),
    ],
)
def test_properties_are_read_leniently(written: bytes, properties: dict[str, str]) -> None:
    """Reading 50: entries end at a semicolon, names at the first colon."""
    crossed = to_bus(written)
    assert {name: text for name, text in crossed.items() if ":" not in name} == properties
    assert len(crossed) == len(list(crossed))


def test_what_extensions_know_is_there_beside_what_was_written() -> None:
    """And counts."""
    crossed = to_bus(b"a:1;b:2", {"x-vendor:number": "7", "x-vendor:name": "n"})
    assert len(crossed) == len(list(crossed)) == 5


def test_a_message_without_properties_has_none_on_the_bus() -> None:
    """And costs nothing for them."""
    assert to_bus(b"") == {}
    assert from_bus({}) == b""


octets = st.binary(max_size=60) | st.lists(
    st.sampled_from([b":", b";", b"a", b"N1", b"%3B", b"\0", b"\r\n", b"\xff"])
).map(b"".join)


@given(octets)
def test_properties_are_handed_on_as_they_were_written(written: bytes) -> None:
    """Reading 50: whatever octets they are, in memory and out of a store."""
    properties = to_bus(written)
    assert from_bus(properties) == written
    assert from_bus(json.loads(json.dumps(dict(properties)))) == written


def test_a_message_with_properties_equals_its_like() -> None:
    """By what they say and how it was written."""
    assert Message(b"a", b"", properties=to_bus(EXAMPLE)) == Message(b"a", b"", properties=dict(to_bus(EXAMPLE)))
    assert Message(b"a", b"", properties=to_bus(EXAMPLE)) != Message(b"a", b"", properties=to_bus(EXAMPLE[:-1]))


def test_what_extensions_know_crosses_beside_the_properties() -> None:
    """It is not written among them."""
    properties = to_bus(b"a:1", {"dotnet:type": "T"})
    assert properties["dotnet:type"] == "T"
    assert from_bus(properties) == from_bus(dict(properties)) == b"a:1"
    assert from_bus(to_bus(b"", {"dotnet:type": "T"})) == b""


@pytest.mark.parametrize(
    ("properties", "written"),
    [
        ({"age": "42", "t": "1.5"}, b"age:N42;t:N1.5"),
        ({"who": 'Hello "world"'}, b"who:THello%20%22world%22"),
        ({"who": ""}, b"who:T"),
        ({"a": "x;b:N1"}, b"a:Tx%3Bb%3AN1"),
        ({"name with space": "1", "a;b": "2", "c:d": "3", "": "4", "ok_-9": "5"}, b"ok_-9:N5"),
    ],
)
def test_what_came_by_another_protocol_is_escaped(properties: dict[str, str], written: bytes) -> None:
    """No text of it becomes syntax; names that have no place here are left out; what looks like a number is one."""
    assert from_bus(properties) == written
    values = values_of(to_bus(written))
    assert {name: value.text for name, value in values.items()} == {n: t for n, t in properties.items() if n in values}


def test_what_the_bus_has_changed_is_not_as_it_was_written() -> None:
    """As the marks of a dead letter, which only the bus may set and take away."""
    properties = dict(to_bus(b"a:hello;dead-letter-reason:Tforged"))
    del properties["dead-letter-reason"]
    assert from_bus(properties) == b"a:Thello"
    assert from_bus({**properties, "dead-letter-reason": "expired"}) == b"a:Thello;dead-letter-reason:Texpired"


def test_as_many_properties_are_written_as_there_is_room_for() -> None:
    """Two octets tell their length."""
    assert len(from_bus({f"n{number}": 1000 * "x" for number in range(100)})) <= 65_535
    assert from_bus({"a": 70_000 * "x", "b": "1"}) == b""
    # an entry and its semicolon: the last one needs none, but is counted with one
    longest = MAX_PROPERTIES_OCTETS - len("a:T;")
    assert len(from_bus({"a": longest * "x"})) == MAX_PROPERTIES_OCTETS - 1
    assert from_bus({"a": (longest + 1) * "x"}) == b""
    assert len(from_bus({AS_WRITTEN: 70_000 * "x", 70_000 * "x": ""})) == 65_535


def test_the_vectors_properties_are_values() -> None:
    """MicroMsg2, Filters: 42, that instant, Hello "world"."""
    [vector] = [vector for vector in vectors.load("micromsg2") if vector.name == "send_props_typed"]
    written = vector.octets[13:-3]
    assert values_of(to_bus(written)) == {
        "age": Value("42", Decimal(42)),
        "when": Value("1413198000.0", Decimal(1_413_198_000)),
        "who": Value('Hello "world"'),
    }
