"""How is long work on queues done while others are served? In steps, within the shares of the reactor's turns.

A queue can hold millions of messages, and one word can concern them all: a purge, a time that has come, a consumer
that goes. Such work is a generator that yields wherever it can be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.turns import Turns

#: Messages that work may touch between two places where it yields; some tenths of a millisecond.
STEP = 100


class Slices:
    """The long works of one bus; several of them take turns."""

    def __init__(self, turns: Turns, end_turn: Callable[[], None]) -> None:
        """`end_turn` is called after each slice but the one that is part of its caller's turn."""
        self._turns = turns
        self._end_turn = end_turn

    def run(self, work: Iterator[None]) -> Deferred[None]:
        """Do what this turn allows of it now, and the rest in later ones. Fires when all is done, and fails with what
        the work raises."""
        done: Deferred[None] = Deferred()
        is_later = False

        def steps() -> Iterator[None]:
            try:
                yield from work
            except Exception:
                done.errback(Failure())
            else:
                done.callback(None)

        def slice_over() -> None:
            if is_later:
                self._end_turn()

        self._turns.go_through(steps(), slice_over)
        is_later = True
        return done
