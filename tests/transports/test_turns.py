"""Who is served while a connection has much to be acted on?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionAborted, ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from fmqbus.model import PeerFacts
from fmqbus.transports.stream import LinkState, StreamProtocol
from fmqbus.turns import SHARE_SECONDS, Turns
from tests.transports.test_stream import OpenDoor


class Door(OpenDoor):
    """Needs no socket."""

    def peer_facts(self, transport: Any) -> PeerFacts:
        return PeerFacts("memory", is_local=True)


class Slow(StreamProtocol):
    """Takes a whole share for each octet."""

    seconds_for_each = SHARE_SECONDS

    def __init__(self, door: Door, turns: Turns) -> None:
        super().__init__(door, turns)
        self.done = b""
        self.is_lost = False
        self.turns_over = 0
        self.link = StringTransport()
        self.makeConnection(self.link)

    def link_made(self) -> None:
        """Nothing to begin."""

    def link_lost(self, reason: str) -> None:
        self.is_lost = True

    def octets_arrived(self, data: bytes) -> None:
        self.take_steps(self._act_on(data))

    def _act_on(self, data: bytes) -> Iterator[None]:
        for at in range(len(data)):
            if data[at : at + 1] == b"!":
                raise ValueError("a step fails")
            self.done += data[at : at + 1]
            self.listener.clock.rightNow += self.seconds_for_each
            yield

    def turn_over(self) -> None:
        self.turns_over += 1

    def when_sent(self) -> Deferred[None]:
        return succeed(None)


@pytest.fixture
def door() -> Door:
    """Admits all; its clock also is the reactor."""
    return Door()


@pytest.fixture
def turns(door: Door) -> Turns:
    """The turns of its connections."""
    return Turns(door.clock)


def turn(clock: Clock) -> None:
    """Let one turn of the reactor pass, and no more."""
    due, clock.calls = clock.calls, []
    for call in due:
        call.called = 1
        call.func(*call.args, **call.kw)


def test_what_takes_long_is_spread_over_turns(door: Door, turns: Turns) -> None:
    """After each share all that is done is handed over, and others are served."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abcd")
    after_each_turn = [slow.done]
    while slow.done != b"abcd":
        turn(door.clock)
        after_each_turn.append(slow.done)
    assert len(after_each_turn) >= 3
    assert slow.turns_over >= len(after_each_turn)


def test_a_connection_is_not_read_until_all_is_done(door: Door, turns: Turns) -> None:
    """Its client has to wait for what it has asked, nobody else."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abc")
    assert slow.link.producerState == "paused"
    slow.dataReceived(b"d")
    while door.clock.calls:
        turn(door.clock)
    assert slow.done == b"abcd"
    assert slow.link.producerState == "producing"


def test_connections_with_much_to_do_share_the_turns(door: Door, turns: Turns) -> None:
    """However many there are, a turn is no longer for it, and none is forgotten."""
    several = [Slow(door, turns) for _ in range(3)]
    for slow in several:
        slow.dataReceived(b"abcdefgh")
    while door.clock.calls:
        before = [len(slow.done) for slow in several]
        turn(door.clock)
        assert sum(len(slow.done) for slow in several) - sum(before) <= 1
    assert [slow.done for slow in several] == [b"abcdefgh"] * 3


def test_all_that_wait_divide_a_share(door: Door, turns: Turns) -> None:
    """One with little left to do is not kept until each of many with much has had a whole share."""
    heavy = [Slow(door, turns) for _ in range(10)]
    light = Slow(door, turns)
    for slow in heavy:
        slow.seconds_for_each = SHARE_SECONDS / 100
        slow.dataReceived(bytes(1000))
    light.dataReceived(b"ab")
    before = [len(slow.done) for slow in heavy]
    turn(door.clock)
    for slow, done in zip(heavy, before, strict=True):
        assert 8 <= len(slow.done) - done <= 12
    assert light.done == b"ab"


def test_what_does_not_need_its_part_leaves_it_to_the_others(door: Door, turns: Turns) -> None:
    """The share is used, whoever does not need it."""
    light, heavy = Slow(door, turns), Slow(door, turns)
    light.dataReceived(b"ab")
    heavy.seconds_for_each = SHARE_SECONDS / 100
    heavy.dataReceived(bytes(1000))
    light.seconds_for_each = 0.0
    turn(door.clock)
    assert light.done == b"ab"
    assert len(heavy.done) >= 1 + 98


def test_being_through_does_not_undo_back_pressure(door: Door, turns: Turns) -> None:
    """A publisher that was told to wait for a slow subscriber goes on waiting."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abc")
    slow.pause_reading()
    while slow.done != b"abc":
        turn(door.clock)
    turn(door.clock)
    assert slow.link.producerState == "paused"
    slow.resume_reading()
    assert slow.link.producerState == "producing"


def test_the_end_of_back_pressure_does_not_hurry_what_is_not_done(door: Door, turns: Turns) -> None:
    """Octets that were sent later must not be acted on before."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abc")
    slow.pause_reading()
    slow.resume_reading()
    assert slow.link.producerState == "paused"


def test_what_is_not_done_is_discarded_with_a_soft_stop(door: Door, turns: Turns) -> None:
    """FMQP, section Service topics, step 2: no new messages are accepted."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abcdef")
    slow.stop_listening()
    done = slow.done
    while door.clock.calls:
        turn(door.clock)
    assert slow.done == done


def test_an_end_waits_where_the_turn_is_used_up(door: Door, turns: Turns) -> None:
    """Each takes little; where thousands go at once, the others do not wait for all of them."""
    busy, going = Slow(door, turns), Slow(door, turns)
    busy.dataReceived(b"abc")
    going.readConnectionLost()
    assert going.state is LinkState.OPEN
    turn(door.clock)
    assert going.state is LinkState.OPEN
    turn(door.clock)
    assert going.state is LinkState.LINGERING
    assert going.link.disconnecting


def test_what_was_said_before_the_end_is_acted_on_before_it(door: Door, turns: Turns) -> None:
    """Over TLS, the end of the connection can come together with the last octets: none of them may be lost for it."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abc")
    slow.dataReceived(b"def")
    slow.connectionLost(Failure(ConnectionDone()))
    while not slow.is_lost:
        assert door.clock.calls, "it is forgotten"
        turn(door.clock)
    assert slow.done == b"abcdef"


def test_what_an_aborted_connection_has_said_is_discarded(door: Door, turns: Turns) -> None:
    """Whether it is aborted before or after its end: it is closed in the next turn."""
    before, after = Slow(door, turns), Slow(door, turns)
    before.dataReceived(b"abcdef")
    before.abort("for the test")
    before.connectionLost(Failure(ConnectionAborted()))
    after.dataReceived(b"abcdef")
    after.connectionLost(Failure(ConnectionDone()))
    after.abort("for the test")
    turn(door.clock)
    turn(door.clock)
    assert before.is_lost
    assert after.is_lost
    done = before.done + after.done
    while door.clock.calls:
        turn(door.clock)
    assert before.done + after.done == done


def test_a_step_that_fails_ends_its_connection_only(door: Door, turns: Turns) -> None:
    """As a read that fails does."""
    failing, other = Slow(door, turns), Slow(door, turns)
    failing.dataReceived(b"ab!d")
    other.dataReceived(b"abcd")
    while door.clock.calls:
        turn(door.clock)
    assert failing.link.disconnecting
    assert other.done == b"abcd"


def test_what_has_to_wait_counts_against_the_listeners_bound(door: Door, turns: Turns) -> None:
    """As long as it waits, and no longer."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abc")
    assert door.held == 3
    assert slow.is_kept_waiting
    for _ in range(4):
        turn(door.clock)
    assert slow.done == b"abc"
    assert door.held == 0
    assert not slow.is_kept_waiting


def test_what_waits_is_given_back_when_its_connection_goes(door: Door, turns: Turns) -> None:
    """An abort may come in the midst of it."""
    slow = Slow(door, turns)
    slow.dataReceived(b"abc")
    slow.abort("enough")
    slow.connectionLost(Failure(ConnectionAborted()))
    assert slow.is_lost
    assert door.held == 0


def test_one_read_too_many_that_would_have_to_wait_cuts_its_connection_off(door: Door, turns: Turns) -> None:
    """The others keep what they have."""
    door.held_at_most = 4
    first, second = Slow(door, turns), Slow(door, turns)
    first.dataReceived(b"abc")
    second.dataReceived(b"def")
    assert second.link.disconnected
    assert not first.link.disconnected
    assert door.held == 3
