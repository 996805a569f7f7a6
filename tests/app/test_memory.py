"""`fmqbus.app.memory`: in a process of its own, since what it sets holds for the whole process."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc, resource
from fmqbus.app.memory import GARBAGE_THRESHOLDS, collect_garbage_rarely, keep_freed_memory

collect_garbage_rarely()
assert gc.get_threshold() == GARBAGE_THRESHOLDS
assert gc.get_freeze_count() > 1000

def faults(reads):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(reads):
        buffers = [bytes(256 * 1024) for _ in range(4)]
        del buffers
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults(200)
keep_freed_memory()
faults(5)
after = faults(200)
print(before, after)
"""


def test_freed_memory_is_kept_and_garbage_looked_for_rarely() -> None:
    """Where the C library is glibc, taking and freeing large buffers costs the kernel next to nothing any more."""
    child = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True)
    before, after = map(int, child.stdout.split())
    assert after <= max(200, before // 4)


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no mallopt of this kind."""
    from fmqbus.app import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    memory.keep_freed_memory()
