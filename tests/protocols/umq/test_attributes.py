"""What of attributes is kept, and how much? (UMQ, commands S and X)"""

from __future__ import annotations

from fmqbus.protocols.umq.attributes import Attributes


def test_values_are_bounded_all_together() -> None:
    """Names count too; what is taken back, or takes another's place, makes room (reading 41)."""
    attributes = Attributes(most=10, most_octets=20)
    assert attributes.set(b"a=123456789", ())
    assert attributes.set(b"b=123456789", ())
    assert not attributes.set(b"c=", ())
    assert attributes.set(b"a=1", ())
    assert attributes.set(b"c=1234567", ())
    assert not attributes.set(b"d=", ())
    assert attributes.unset(b"c")
    assert attributes.set(b"d=1234567", ())
    assert len(attributes) == 3
    assert {name: each.text for name, each in attributes.items()} == {"a": "1", "b": "123456789", "d": "1234567"}


def test_their_number_is_bounded() -> None:
    """A new value for one that is there is no further one."""
    attributes = Attributes(most=1, most_octets=100)
    assert attributes.set(b"a=1", ())
    assert not attributes.set(b"b=1", ())
    assert attributes.set(b"a=2", ())
    assert attributes["a"].text == "2"


def test_to_take_back_what_is_not_there_changes_nothing() -> None:
    """As reading 42 has it."""
    attributes = Attributes(most=1, most_octets=100)
    assert not attributes.unset(b"a")
    attributes.set(b"a=1", ())
    assert attributes.unset(b"a")
    assert not attributes
