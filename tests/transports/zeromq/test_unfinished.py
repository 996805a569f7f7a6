"""Is it told apart who sends a message that never ends, by a clock of our own?"""

from __future__ import annotations

from fmqbus.limits import Limits
from fmqbus.testing.links import MemoryListener
from fmqbus.transports.zeromq.unfinished import Unfinished

MOST = 10_000


class Connection:
    """A connection whose octets the test counts, looked at once a second."""

    def __init__(self, **limits: int) -> None:
        self.listener = MemoryListener(limits=Limits(body_octets=MOST - 1000, control_octets=1000, **limits))
        self.unfinished = Unfinished(self.listener)
        self.octets = 0

    def brings(self, octets: int, is_excused: bool = False) -> bool:
        self.octets += octets
        self.listener.clock.advance(1.0)
        return self.unfinished.is_too_much(self.octets, is_excused)


def test_who_finishes_messages_may_go_on_for_ever() -> None:
    """However much it is in all."""
    connection = Connection()
    assert not any(connection.brings(MOST, is_excused=True) for _ in range(100))
    assert connection.listener.held == 0


def test_a_message_as_large_as_allowed_is_awaited() -> None:
    """What it holds is counted meanwhile, and then no more."""
    connection = Connection()
    for _ in range(5):
        assert not connection.brings(2000)
    assert MOST * 0.8 < connection.listener.held <= MOST
    assert not connection.brings(0, is_excused=True)
    assert connection.listener.held == 0


def test_one_look_at_too_much_is_not_enough() -> None:
    """It may be whole messages that have just come; the second look decides."""
    connection = Connection()
    assert not connection.brings(10 * MOST)
    assert not connection.brings(0, is_excused=True)
    assert not connection.brings(10 * MOST)
    assert connection.brings(0)


def test_heartbeats_of_years_are_no_message() -> None:
    """A subscriber may never say anything else."""
    connection = Connection()
    assert not any(connection.brings(30) for _ in range(100_000))
    assert connection.listener.held == 0


def test_all_together_are_bounded() -> None:
    """Where others hold much already, less will do."""
    connection = Connection(assembly_octets=5000)
    connection.listener.hold(4000)
    assert not connection.brings(2000)
    assert connection.brings(0)


def test_who_goes_holds_nothing() -> None:
    """And may have held nothing before."""
    connection = Connection()
    connection.brings(5000)
    connection.unfinished.let_go()
    connection.unfinished.let_go()
    assert connection.listener.held == 0
