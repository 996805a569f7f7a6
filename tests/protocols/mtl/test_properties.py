"""What of a field table the rest of the bus sees, and what becomes of other protocols' properties. (reading 32)"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.model import AS_TABLE, AS_WRITTEN, DEAD_LETTER_REASON, Message, StoredMessage, Terms, readable
from fmqbus.protocols.mtl.field_table import FieldTable, write_table
from fmqbus.protocols.mtl.properties import (
    MOST_OCTETS,
    delivery_table,
    from_bus,
    is_retained,
    table_of,
    terms_of,
    to_bus,
    to_keep,
)

ALL_KINDS = {
    "text": "ä",
    "number": 7,
    "float": 0.5,
    "yes": True,
    "no": False,
    "nothing": None,
    "octets": b"x",
    "table": {"a": 1},
    "array": [1],
    "time": datetime(2026, 1, 1, tzinfo=UTC),
}


def test_single_values_are_text_to_others() -> None:
    """And nothing else is seen by them. (reading 32)"""
    said = readable(to_bus(write_table(ALL_KINDS)))
    assert said == {"text": "ä", "number": "7", "float": "0.5", "yes": "true", "no": "false"}


def test_nobody_says_what_only_the_bus_and_its_protocols_may() -> None:
    """Such names have colons. (reading 32)"""
    forged = {AS_WRITTEN: "a:Tb", AS_TABLE: "x", "emqp:id": "1", "a": "b"}
    properties = to_keep(write_table(forged))
    assert readable(properties) == {"a": "b"}
    assert properties.keys() == {AS_TABLE, "a"}


@pytest.mark.parametrize("table", [b"", b"\xff no table", write_table(ALL_KINDS), bytes(range(256))])
def test_a_table_comes_back_as_it_was(table: bytes) -> None:
    """From a topic, from a queue, and from a store, which keeps text. (reading 32)"""
    assert from_bus(to_bus(table)) == table
    assert from_bus(to_keep(table)) == table
    assert from_bus(dict(to_bus(table))) == table
    assert len(to_bus(table)) == len(dict(to_bus(table)))


def test_what_the_bus_adds_stands_behind_it() -> None:
    """As the reason of a dead letter. (reading 32)"""
    table = write_table({"a": 1, "deep": {"b": 2}})
    added = from_bus({**to_keep(table), DEAD_LETTER_REASON: "rejected"})
    assert added.startswith(table)
    fields = FieldTable(added)
    assert (fields["a"], fields[DEAD_LETTER_REASON]) == (1, "rejected")
    assert list(fields) == ["a", "deep", DEAD_LETTER_REASON]


def test_properties_of_others_are_text() -> None:
    """As far as they have a place: what is private to another protocol has none, nor a name that is too long.
    (reading 32)"""
    properties = {"a": "1", AS_WRITTEN: "a:N1", "emqp:id": "x", "n" * 256: "too long", "lone": "\ud800", "z": "2"}
    assert dict(FieldTable(from_bus(properties))) == {"a": "1", "emqp:id": "x", "z": "2"}


def test_there_is_so_much_room_and_no_more() -> None:
    """The first ones have it."""
    properties = {f"{number:04}": "x" * 1_000 for number in range(100)}
    octets = from_bus(properties)
    assert MOST_OCTETS - 1_100 < len(octets) <= MOST_OCTETS
    assert list(FieldTable(octets)) == list(properties)[: len(FieldTable(octets))]
    one = write_table({"a": ""})
    exact = {"a": "x" * (MOST_OCTETS - len(one))}
    assert len(from_bus(exact)) == MOST_OCTETS
    assert from_bus({"a": exact["a"] + "x"}) == b""


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [({"retain": True}, True), ({"retain": False}, False), ({"retain": "true"}, False), ({}, False)],
)
def test_only_a_truth_keeps_a_content(fields: dict[str, Any], is_kept: bool) -> None:
    """Text may be the application's own. (reading 17)"""
    assert is_retained(write_table(fields)) == is_kept
    assert not is_retained(b"\x06retaint")


def test_what_is_kept_says_so_once() -> None:
    """Also where the one who had it kept spoke another protocol. (reading 17)"""
    kept = write_table({"retain": True})
    assert table_of(Message(b"t", b"", retain=True)) == kept
    assert table_of(Message(b"t", b"", retain=True, properties=to_bus(kept))) == kept
    assert table_of(Message(b"t", b"", properties={"a": "b"})) == write_table({"a": "b"})


@pytest.mark.parametrize(
    ("is_redelivered", "deliveries", "said"),
    [
        (False, 1, {}),
        (False, 0, {}),
        (True, 1, {"redelivered": True, "deliveries": 1}),
        (False, 2, {"redelivered": True, "deliveries": 2}),
        (True, 3, {"redelivered": True, "deliveries": 3}),
    ],
)
def test_what_was_handed_out_before_says_so(is_redelivered: bool, deliveries: int, said: dict[str, Any]) -> None:
    """Perhaps by a broker that is no more. (reading 17)"""
    stored = StoredMessage(b"q", 1, Message(b"q", b""), deliveries=deliveries, is_redelivered=is_redelivered)
    assert dict(FieldTable(delivery_table(stored))) == said


@pytest.mark.parametrize(
    ("fields", "terms"),
    [
        ({"priority": 9, "ttl": 1, "delay": 2.5}, Terms(priority=9, time_to_live=1, delay=2.5)),
        ({"priority": 10}, Terms()),
        ({"priority": -1}, Terms()),
        ({"priority": 1.0}, Terms()),
        ({"priority": True, "ttl": True}, Terms()),
        ({"ttl": float("nan"), "delay": float("inf")}, Terms()),
        ({"ttl": -0.1}, Terms()),
        ({"ttl": "1"}, Terms()),
    ],
)
def test_terms_that_cannot_be_meant_ask_for_nothing(fields: dict[str, Any], terms: Terms) -> None:
    """Each by itself. (reading 17)"""
    assert terms_of(write_table(fields)) == terms
    assert terms_of(write_table({**fields, "priority": 3})).priority == 3


def test_a_table_that_cannot_be_read_asks_for_nothing() -> None:
    """It is handed on all the same. (reading 32)"""
    assert terms_of(b"\x08priorityl") == Terms()


@given(st.binary(max_size=60))
def test_any_octets_are_a_table_that_comes_back(octets: bytes) -> None:
    """Whatever they are."""
    for properties in (to_bus(octets), to_keep(octets)):
        assert from_bus(properties) == octets
        assert all(isinstance(text, str) for text in properties.values())
        terms_of(octets)
        is_retained(octets)
