"""How does a process that is a bus, and nothing else, deal with its memory? Not for applications that embed one."""

from __future__ import annotations

import ctypes
import gc

#: Allocations until the youngest objects are collected; collections of each age until the next older one's turn.
GARBAGE_THRESHOLDS = (10_000, 100, 1_000)

#: Parameters of glibc's mallopt(3).
_M_TRIM_THRESHOLD = -1
_M_TOP_PAD = -2
_M_MMAP_THRESHOLD = -3

_MIB = 1024 * 1024


def collect_garbage_rarely() -> None:
    """Messages leave no cycles behind. To look for them among a million subscriptions would stop the bus for a second,
    so the oldest objects are looked at very rarely, and those that a bus begins with never. Connections that have ended
    do leave some: the youngest objects are looked at as soon as there are so many that it takes a few milliseconds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def keep_freed_memory() -> None:
    """Have the C library keep what is freed at the top of its heap, up to 16 MiB. By default it hands 128 KiB back to
    the kernel at once, and every read of a busy bus frees so much: half of the time then goes into getting it again.
    What a burst has taken beyond that goes back, or memory would seem to grow for hours, burst by burst. Does nothing
    where the C library is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_TRIM_THRESHOLD, 16 * _MIB)
    mallopt(_M_TOP_PAD, 1 * _MIB)
    mallopt(_M_MMAP_THRESHOLD, 32 * _MIB)
