"""What does a producer ask of the bus by properties?"""

from __future__ import annotations

import pytest

from fmqbus.model import PLAIN_TERMS, Terms
from fmqbus.protocols.micromsg2.properties import to_bus
from fmqbus.protocols.micromsg2.requests import is_retained, is_will, may_ask, terms_of


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        (b"priority:N9", Terms(priority=9)),
        (b"PRIORITY:3", Terms(priority=3)),
        (b"ttl:N2.5", Terms(time_to_live=2.5)),
        (b"delay:T10", Terms(delay=10)),
        (b"a:b;delay:N1;ttl:N2;priority:N4", Terms(priority=4, time_to_live=2, delay=1)),
        (b"priority:high", PLAIN_TERMS),
        (b"priority:N10;delay:N5", Terms(delay=5)),
        (b"priority:N1.5", PLAIN_TERMS),
        (b"ttl:N-1;delay:inf", PLAIN_TERMS),
        (b"ttl:nan;delay:" + 400 * b"9", PLAIN_TERMS),
        (b"priority:" + 5000 * b"9", PLAIN_TERMS),
        (b"my-priority:N4", PLAIN_TERMS),
    ],
)
def test_terms_are_asked_for_by_properties(written: bytes, terms: Terms) -> None:
    """A value that cannot be meant asks for nothing: it may be the application's own."""
    assert terms_of(to_bus(written)) == terms


@pytest.mark.parametrize(("value", "asked"), [(b"N1", True), (b"1", True), (b"true", True), (b"Ttrue", True)])
@pytest.mark.parametrize("name", [b"retain", b"Retain"])
def test_a_message_is_retained_if_it_says_so(name: bytes, value: bytes, asked: bool) -> None:
    """In any way that means yes."""
    assert is_retained(to_bus(name + b":" + value)) is asked
    assert not is_will(to_bus(name + b":" + value))
    assert is_will(to_bus(b"will:" + value))


@pytest.mark.parametrize("written", [b"retain:no", b"retain:N0", b"retain", b"unretain:1", b"k:retain"])
def test_a_message_is_not_retained_otherwise(written: bytes) -> None:
    """Nor if another property looks like it."""
    assert not is_retained(to_bus(written))


def test_what_asks_for_nothing_is_told_by_a_glance() -> None:
    """At properties, or at the head of a frame."""
    assert not may_ask(b"")
    assert not may_ask(b"\x07topic/t\0\x03k:v\x01")
    for name in (b"retain", b"will", b"priority", b"ttl", b"DELAY"):
        assert may_ask(b"\x07topic/t\0\x09k:v;" + name + b":N1\x01")
