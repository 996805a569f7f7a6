"""How long may a connection wait for its protocol to begin, and how many may?"""

from __future__ import annotations

import attrs
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from fmqbus.transports.preamble import Preamble, WaitingRoom


@attrs.define(eq=False)
class Waiting:
    """A transport that can be aborted."""

    is_aborted: bool = False

    def abortConnection(self) -> None:
        self.is_aborted = True


def test_who_waits_too_long_is_aborted() -> None:
    """Each counts its own time, with one timer for all."""
    clock = Clock()
    room = WaitingRoom(clock, seconds=10)
    first, second = Waiting(), Waiting()
    room.enter(first)
    clock.advance(4)
    room.enter(second)
    assert len(clock.getDelayedCalls()) == 1
    clock.advance(6)
    assert (first.is_aborted, second.is_aborted) == (True, False)
    clock.advance(4)
    assert second.is_aborted
    assert clock.getDelayedCalls() == []


def test_who_leaves_in_time_is_not_aborted() -> None:
    """And an empty room has no timer."""
    clock = Clock()
    room = WaitingRoom(clock, seconds=10)
    transport = Waiting()
    room.enter(transport)
    room.leave(transport)
    room.leave(transport)
    assert clock.getDelayedCalls() == []
    assert not transport.is_aborted


def test_the_longest_waiting_gives_up_its_place_in_a_full_room() -> None:
    """Those who wait on purpose cannot keep others out."""
    room = WaitingRoom(Clock(), places=2)
    waiting = [Waiting() for _ in range(3)]
    for transport in waiting:
        room.enter(transport)
    assert [transport.is_aborted for transport in waiting] == [True, False, False]
    assert len(room) == 2


def test_a_closed_room_is_empty() -> None:
    """Nobody waits at a port that is closed."""
    clock = Clock()
    room = WaitingRoom(clock)
    waiting = [Waiting() for _ in range(3)]
    for transport in waiting:
        room.enter(transport)
    room.close()
    assert all(transport.is_aborted for transport in waiting)
    assert clock.getDelayedCalls() == []


def test_a_protocol_that_begins_has_the_transport_to_itself() -> None:
    """The preamble is out of the way, at no cost for each read and write."""
    clock = Clock()
    transport = StringTransport()
    successor = Factory.forProtocol(Protocol).buildProtocol(None)
    preamble = Preamble(WaitingRoom(clock), successor)
    preamble.makeConnection(transport)
    assert not successor.connected
    preamble.protocol_begins()
    assert successor.transport is transport
    assert transport.protocol is successor
    assert clock.getDelayedCalls() == []
