"""`fmqbus.client.fmqp`: publications reach the bus in order, wait where they must, and never without bound."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionLost

from fmqbus.errors import Detached, InvalidName, LocalError, Overloaded
from fmqbus.protocols.fmqp.codec import CACHE, DEBUG, LAST_WILL, SUBSCRIPTION, UNSUBSCRIBE, Packet, encode
from tests.client.conftest import MakeBus
from tests.client.failures import failure_of
from tests.client.memory_bus import MemoryBus


def test_with_room_a_publication_is_sent_at_once(bus: MemoryBus) -> None:
    """And the Deferred has fired already."""
    connection = bus.start()
    assert bus.client.publish("/room/temp/", b"21.5").called
    assert bus.client.publish("room/temp", b"22", retain=True).called
    assert connection.heard() == [Packet(0, b"room/temp", b"21.5"), Packet(CACHE, b"room/temp", b"22")]


def test_publications_wait_for_the_first_connection(bus: MemoryBus) -> None:
    """In order, each with a Deferred that fires when it is sent."""
    sent = [bus.client.publish("a", payload) for payload in (b"1", b"2")]
    assert not any(deferred.called for deferred in sent)
    connection = bus.start()
    assert all(deferred.called for deferred in sent)
    assert [packet.body for packet in connection.heard()] == [b"1", b"2"]


def test_a_full_transport_makes_the_publisher_wait(bus: MemoryBus) -> None:
    """Back pressure: who awaits goes no faster than the connection."""
    connection = bus.start()
    connection.fill()
    waiting = bus.client.publish("a", b"1")
    assert not waiting.called
    assert connection.heard() == []
    connection.drain()
    assert waiting.called
    assert connection.heard() == [Packet(0, b"a", b"1")]


def test_whoever_waits_for_room_goes_no_faster_than_the_connection(bus: MemoryBus) -> None:
    """There is none before it stands, and while it is full."""
    room = bus.client.when_room()
    assert not room.called
    connection = bus.start()
    assert room.called
    connection.fill()
    room = bus.client.when_room()
    bus.client.publish("a", b"1")
    assert not room.called
    connection.drain()
    assert room.called
    connection.fill()
    waiting = bus.client.when_room()
    bus.client.stopService()
    assert isinstance(failure_of(waiting), Detached)


def test_a_publication_made_while_others_leave_keeps_its_place(bus: MemoryBus) -> None:
    """Callbacks run while what waited is being sent; they must not overtake it."""
    connection = bus.start()
    connection.fill()
    first = bus.client.publish("a", b"1")
    first.addCallback(lambda _: bus.client.publish("a", b"3"))
    bus.client.publish("a", b"2")
    connection.drain()
    assert [packet.body for packet in connection.heard()] == [b"1", b"2", b"3"]


def test_a_transport_that_fills_again_stops_the_flow(bus: MemoryBus) -> None:
    """The rest waits for the next time."""
    connection = bus.start()
    connection.fill()
    first, second = bus.client.publish("a", b"1"), bus.client.publish("a", b"2")
    first.addCallback(lambda _: connection.fill())
    connection.drain()
    assert first.called
    assert not second.called
    assert [packet.body for packet in connection.heard()] == [b"1"]


def test_more_than_may_wait_is_refused(make_bus: MakeBus) -> None:
    """The limit is in octets; what was taken before is not harmed."""
    bus = make_bus(outbox_octets=600)
    bus.client.publish("a", b"x" * 10)
    with pytest.raises(Overloaded):
        bus.client.publish("a", b"y" * 10)
    connection = bus.start()
    assert connection.heard() == [Packet(0, b"a", b"x" * 10)]


def test_a_cancelled_publication_is_withdrawn(make_bus: MakeBus) -> None:
    """And makes room for another."""
    bus = make_bus(outbox_octets=600)
    withdrawn = bus.client.publish("a", b"x" * 10)
    withdrawn.cancel()
    assert isinstance(failure_of(withdrawn), CancelledError)
    bus.client.publish("a", b"y" * 10)
    assert bus.start().heard() == [Packet(0, b"a", b"y" * 10)]


def test_what_waits_when_the_client_stops_fails(bus: MemoryBus) -> None:
    """Nobody waits for ever."""
    connection = bus.start()
    connection.fill()
    waiting = bus.client.publish("a", b"1")
    bus.client.stopService()
    assert isinstance(failure_of(waiting), Detached)
    with pytest.raises(Detached):
        bus.client.publish("a", b"2")


def test_a_wrong_topic_or_too_large_a_payload_is_refused(make_bus: MakeBus) -> None:
    """Before anything is sent."""
    bus = make_bus(body_octets=3)
    connection = bus.start()
    with pytest.raises(InvalidName):
        bus.client.publish("///", b"x")
    with pytest.raises(LocalError):
        bus.client.publish("a", b"four")
    assert connection.heard() == []


def test_wills_are_said_on_every_connection_before_all_else(bus: MemoryBus) -> None:
    """One per topic; an empty one is forgotten."""
    bus.client.set_will("status/a", b"gone", retain=True)
    bus.client.set_will("status/b", b"old")
    bus.client.set_will("/status/b", b"new")
    bus.client.set_will("status/c", b"gone")
    bus.client.set_will("status/c", b"")
    bus.client.publish("a", b"1")
    wills = [Packet(LAST_WILL | CACHE, b"status/a", b"gone"), Packet(LAST_WILL, b"status/b", b"new")]
    assert bus.start().heard() == [*wills, Packet(0, b"a", b"1")]
    bus.connection.break_off()
    assert bus.come_back().heard() == wills


def test_a_removed_will_is_removed_at_the_broker_too(bus: MemoryBus) -> None:
    """By an empty one (reading 29)."""
    connection = bus.start()
    bus.client.set_will("status", b"gone")
    bus.client.set_will("status", b"")
    assert connection.heard() == [Packet(LAST_WILL, b"status", b"gone"), Packet(LAST_WILL, b"status", b"")]


def test_sync_ends_when_the_echo_has_come_back(bus: MemoryBus) -> None:
    """The echo is asked for behind all that was published, on a topic of its own, hidden from publishers."""
    connection = bus.start()
    connection.fill()
    bus.client.publish("a", b"1")
    done = Deferred.fromCoroutine(bus.client.sync())
    bus.clock.advance(0)
    (subscription,) = connection.heard()
    assert subscription.flags == SUBSCRIPTION | DEBUG
    connection.drain()
    published, echo = connection.heard()
    assert (published.topic, echo.topic) == (b"a", subscription.topic)
    assert not done.called
    connection.say(encode(0, echo.topic, echo.body))
    assert done.called
    assert connection.heard() == [Packet(SUBSCRIPTION | UNSUBSCRIBE, subscription.topic)]


@pytest.mark.parametrize("is_full", [False, True])
def test_sync_fails_if_the_connection_goes_meanwhile(bus: MemoryBus, is_full: bool) -> None:
    """Nobody knows what has arrived then."""
    connection = bus.start()
    done = Deferred.fromCoroutine(bus.client.sync())
    if is_full:
        connection.fill()
    bus.clock.advance(0)
    connection.break_off()
    assert isinstance(failure_of(done), ConnectionLost)
