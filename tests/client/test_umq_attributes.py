"""`fmqbus.client.umq`: what the two sides set on each other (UMQ, Commands S and X)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from fmqbus.errors import LocalError
from fmqbus.protocols.umq.attributes import Attribute
from tests.client.umq_bus import Served, UMQBus

MakeBus = Callable[..., UMQBus]


def told(connection: Served) -> dict[str, Attribute]:
    """What the bus knows of the client."""
    connection.hear()
    return dict(connection.end.peer.attributes)


def test_what_we_set_is_set_on_every_connection(umq_bus: UMQBus) -> None:
    """With what is attached to it, until it is taken back; also what was set without one."""
    umq_bus.client.set_attribute("name", "a = b")
    connection = umq_bus.start()
    umq_bus.client.set_attribute("face", "", attachments=[b"\xff"])
    umq_bus.client.set_attribute("mood", "good")
    expected = {"name": Attribute("a = b"), "face": Attribute("", [b"\xff"])}
    assert told(connection) == {**expected, "mood": Attribute("good")}
    umq_bus.client.unset_attribute("mood")
    umq_bus.client.unset_attribute("none")
    assert told(connection) == expected
    connection.break_off()
    umq_bus.client.unset_attribute("name")
    umq_bus.client.set_attribute("face", "new")
    assert told(umq_bus.come_back()) == {"face": Attribute("new")}


def test_calls_come_after_what_the_bus_is_to_know_of_the_caller(umq_bus: UMQBus) -> None:
    """Wills and calls that waited too."""
    umq_bus.client.call("a")
    umq_bus.client.set_attribute("name", "me")
    kinds = [type(event).__name__ for event in umq_bus.start().hear()]
    assert kinds == ["AttributesChanged", "Called"]


def test_what_the_bus_sets_can_be_read(umq_bus: UMQBus) -> None:
    """As long as the connection stands; within bounds."""
    assert umq_bus.client.attributes == {}
    connection = umq_bus.start()
    connection.end.peer.set_attribute("name", "bus", [b"1"])
    connection.tell()
    assert umq_bus.client.attributes == {"name": Attribute("bus", [b"1"])}
    connection.end.peer.set_attribute("name", "x" * 100_000)
    connection.end.peer.set_attribute("other", "1")
    connection.end.peer.unset_attribute("name")
    connection.tell()
    assert umq_bus.client.attributes == {"other": Attribute("1")}
    assert umq_bus.client.invalid == 1
    connection.break_off()
    assert umq_bus.client.attributes == {}


@pytest.mark.parametrize(
    ("name", "value", "attachments"),
    [("a=b", "", []), ("\ud800", "", []), ("a", "x" * 1000, []), ("a", "", [b"x" * 1001]), ("a", "", [b""] * 4)],
)
def test_what_cannot_be_set_is_the_callers_mistake(
    make_umq_bus: MakeBus, name: str, value: str, attachments: Sequence[bytes]
) -> None:
    """At once; the first = would end the name (reading 40)."""
    bus = make_umq_bus(limits={"body_octets": 1000, "attachments_per_message": 3})
    with pytest.raises(LocalError):
        bus.client.set_attribute(name, value, attachments=attachments)
    assert told(bus.start()) == {}


def test_a_client_that_stops_forgets_what_it_has_set(umq_bus: UMQBus) -> None:
    """As all that was asked for."""
    umq_bus.client.set_attribute("name", "me")
    umq_bus.start()
    umq_bus.client.stopService()
    umq_bus.clock.advance(0)
    assert told(umq_bus.start()) == {}
