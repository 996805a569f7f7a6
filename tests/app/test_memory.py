"""`fmqbus.app.memory`: in a process of its own, since what it sets holds for the whole process."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest
from twisted.internet.task import Clock

from fmqbus.app import memory
from fmqbus.app.memory import BLOCKS_PER_SESSION, LEAST_SESSIONS, LOOK_SECONDS, GarbageOfSessions

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
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())
    memory.keep_freed_memory()


TORN = """
from pathlib import Path
from twisted.internet import reactor  # Large, and a service without it brings it in.
from twisted.internet.task import Clock
from fmqbus.app.memory import LEAST_SESSIONS, LOOK_SECONDS, GarbageOfSessions, keep_freed_memory

def memory():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4

keep_freed_memory()
begun, clock = [0], Clock()
GarbageOfSessions(clock, lambda: begun[0]).startService()
first = memory()
torn = [bytes(600 if at % 2 else 60_000) for at in range(1_000)]
full = memory()
torn[::2] = [b""] * 500
begun[0] = LEAST_SESSIONS
clock.advance(LOOK_SECONDS)
print(first, full, memory(), len(torn))
"""


def test_memory_that_is_free_between_what_is_in_use_goes_back_to_the_kernel() -> None:
    """Where the C library is glibc; else it is its own affair."""
    child = subprocess.run([sys.executable, "-c", TORN], capture_output=True, text=True, timeout=60, check=True)
    first, full, then, _ = map(int, child.stdout.split())
    assert full - first > 25_000
    assert then - first < 10_000


PROCESS = """
from twisted.internet import reactor
from fmqbus.app.config import Config
from fmqbus.app.memory import GarbageOfSessions
from fmqbus.app.plugs import find_plugs
from fmqbus.app.process import BusProcess

process = BusProcess(reactor, lambda: Config(listen=["fmqp:tcp:0:interface=127.0.0.1"]), find_plugs())

def look():
    print([part.running for part in process if isinstance(part, GarbageOfSessions)])
    process.stop(soft=False)

process.privilegedStartService()
process.startService()
process.bus.when_ready().addCallback(lambda _: reactor.callLater(0, look))
reactor.addSystemEventTrigger("before", "shutdown", process.stopService)
reactor.run()
"""


def test_a_bus_with_a_process_of_its_own_collects_what_sessions_leave() -> None:
    """As soon as it serves."""
    child = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, timeout=60, check=True)
    assert child.stdout.split() == ["[1]"], child.stderr


class Left:
    """Something that is not freed when nobody has it any more."""

    def __init__(self) -> None:
        self.cycle = self


@pytest.mark.parametrize("held", [0, 10 * LEAST_SESSIONS * BLOCKS_PER_SESSION])
def test_what_sessions_leave_behind_is_collected_the_more_rarely_the_more_there_is(
    monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """With the same share of the time that sessions cost, whatever the bus holds."""
    clock, begun, blocks = Clock(), [7], [1_000]
    monkeypatch.setattr(memory.sys, "getallocatedblocks", lambda: blocks[0])
    garbage = GarbageOfSessions(clock, lambda: begun[0])
    garbage.startService()
    gc.disable()
    try:
        blocks[0] += held
        left = weakref.ref(Left())
        enough = held // BLOCKS_PER_SESSION or LEAST_SESSIONS
        for sessions, is_there in ((enough - 1, True), (1, False)):
            begun[0] += sessions
            clock.advance(LOOK_SECONDS)
            assert (left() is not None) is is_there
        left = weakref.ref(Left())
        begun[0] += enough - 1
        clock.advance(LOOK_SECONDS)
        assert left() is not None
    finally:
        gc.enable()
        garbage.stopService()
    assert not clock.getDelayedCalls()
