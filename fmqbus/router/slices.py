"""How is long work done while others are served? In slices of a few milliseconds, one in each turn of the reactor.

A queue can hold millions of messages, and one word can concern them all: a purge, a time that has come, a consumer
that goes. Such work is a generator that yields wherever it can be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Cooperator

#: Of one turn; as long as a connection may keep others waiting (`fmqbus.transports.turns`).
SLICE_SECONDS = 0.005
#: Messages that work may touch between two places where it yields; some tenths of a millisecond.
STEP = 100


class Slices:
    """The long works of one bus; several of them take turns."""

    def __init__(self, clock: Any, after_slice: Callable[[], None]) -> None:
        """`after_slice` is called when a turn that was begun here is over."""
        self._clock = clock
        self._after_slice = after_slice
        self._cooperator = Cooperator(self.begin, self._schedule)

    def begin(self) -> Callable[[], bool]:
        """Begin a slice; the answer tells whether it is over."""
        end = self._clock.seconds() + SLICE_SECONDS
        return lambda: bool(self._clock.seconds() >= end)

    def run(self, work: Iterator[None]) -> Deferred[None]:
        """Do a first slice of it now, within the caller's turn, and the rest in later ones. Fires when all is done, and
        fails with what the work raises."""
        is_over = self.begin()
        try:
            for _ in work:
                if is_over():
                    return self._cooperator.coiterate(work).addCallback(lambda _: None)
        except Exception:
            return fail()
        return succeed(None)

    def _schedule(self, go_on: Callable[[], None]) -> Any:
        return self._clock.callLater(0, partial(self._turn, go_on))

    def _turn(self, go_on: Callable[[], None]) -> None:
        go_on()
        self._after_slice()
