"""How many handshakes are there at a time, and who has to go for another?"""

from __future__ import annotations

from typing import Any

from fmqbus.transports.zeromq.newcomers import Newcomers


class Connection:
    """One that has brought so many octets; None if it has gone."""

    def __init__(self, octets: int | None = 0) -> None:
        self.octets = octets

    def look(self) -> int | None:
        return self.octets


def test_the_one_that_has_waited_longest_has_to_go() -> None:
    """Where there are too many that have not finished a handshake."""
    newcomers = Newcomers(100, places=2)
    first, second, third = waiting = [Connection(), Connection(99), Connection()]
    assert [newcomers.came(each) for each in _any(waiting)] == [None, None, first]
    newcomers.left(_any(second))
    assert newcomers.came(_any(Connection())) is None
    assert newcomers.came(_any(Connection())) is third


def test_whoever_may_have_finished_it_or_has_gone_stays_out_of_it() -> None:
    """It takes a place no more."""
    newcomers = Newcomers(100, places=1)
    done, gone, last = Connection(100), Connection(None), Connection()
    assert [newcomers.came(each) for each in _any([done, gone, last])] == [None, None, None]
    assert newcomers.came(_any(Connection())) is last


def _any(what: Any) -> Any:
    return what
