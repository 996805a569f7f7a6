"""How does a process that is a bus, and nothing else, deal with its memory? Not for applications that embed one."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from typing import Any

from twisted.application.internet import TimerService

#: Allocations until the youngest objects are collected; collections of each age until the next older one's turn.
GARBAGE_THRESHOLDS = (10_000, 10, 10_000)

#: Seconds between two looks whether enough sessions have begun.
LOOK_SECONDS = 10.0
#: Sessions that begin until the next collection of all: a megabyte or two.
LEAST_SESSIONS = 200
#: To look at so many blocks of memory takes 20 to 50 microseconds, a small part of what a session has cost.
BLOCKS_PER_SESSION = 100

#: Parameters of glibc's mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3

_MIB = 1024 * 1024


def collect_garbage_rarely() -> None:
    """Neither messages nor sessions leave cycles behind. To look for them among a million subscriptions would stop the
    bus for a second, so the oldest objects are looked at very rarely, and those that a bus begins with never. What goes
    wrong does leave some, and a vendor's part may: the youngest objects are looked at as soon as there are so many that
    it takes a few milliseconds, and all of them by `GarbageOfSessions`."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


class GarbageOfSessions(TimerService):
    """Collects what has gone wrong in sessions, and what parts of vendors leave in cycles; and gives the kernel back
    what has become free by then between what is in use.

    How long that takes is proportional to all that the bus holds. So it is done the more rarely the more that is: it
    takes a bus without clients some milliseconds after 200 sessions, and one with a million subscriptions a second
    after many thousands."""

    def __init__(self, clock: Any, sessions_begun: Callable[[], int]) -> None:
        """`sessions_begun` tells how many sessions there ever were."""
        super().__init__(LOOK_SECONDS, self.look)
        self.clock = clock
        self._sessions_begun = sessions_begun
        self._give_back = _of_glibc("malloc_trim")
        self._seen = sessions_begun()
        self._blocks_at_first = sys.getallocatedblocks()

    def look(self) -> None:
        """Collect if it is time."""
        begun = self._sessions_begun()
        if begun - self._seen < LEAST_SESSIONS:
            return
        blocks = sys.getallocatedblocks() - self._blocks_at_first
        if begun - self._seen >= blocks // BLOCKS_PER_SESSION:
            gc.collect()
            # What is free in the heap's midst does not go back by itself. It takes a tenth as long as the line above.
            self._give_back(0)
            self._seen = begun


def keep_freed_memory() -> None:
    """Have the C library keep what is freed at the top of its heap, up to 16 MiB. By default it hands 128 KiB back to
    the kernel at once, and every read of a busy bus frees so much: half of the time then goes into getting it again.
    What a burst has taken beyond that goes back, or memory would seem to grow for hours, burst by burst. Does nothing
    where the C library is not glibc."""
    mallopt = _of_glibc("mallopt")
    mallopt(_M_TRIM_THRESHOLD, 16 * _MIB)
    mallopt(_M_TOP_PAD, 1 * _MIB)
    mallopt(_M_MMAP_THRESHOLD, 32 * _MIB)


def _of_glibc(name: str) -> Callable[..., Any]:
    """A function of the C library, or one that does nothing where that is another one."""
    try:
        function: Callable[..., Any] = getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return lambda *arguments: None
    return function
