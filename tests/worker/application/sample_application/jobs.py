"""Jobs of an application, well-behaved and other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from fmqbus.worker import job, progress


@job
def add(first: int, second: int = 0) -> int:
    """What it returns is JSON."""
    return first + second


@job
def fail(text: str) -> None:
    """Raises."""
    raise ValueError(text)


@job(timeout=0.3)
def hang(marker: str) -> None:
    """Starts somebody who outlives it, if nobody kills him, and does not end itself."""
    subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(1.5); open({marker!r}, 'w')"])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(60)


@job
def die() -> None:
    """Takes its process with it."""
    os._exit(7)


@job
def report() -> int:
    """Says how far it is."""
    progress(0.5, "half")
    progress(2.0)
    return os.getpid()


@job
def mess(size: int) -> str:
    """Prints, reads, and returns very much."""
    print("a job prints")
    assert sys.stdin.read() == ""
    return "x" * size


@job
def no_json() -> object:
    """Returns what cannot be told."""
    return object()


@job
def wait_for(path: str) -> bool:
    """Until there is such a file."""
    while not Path(path).exists():
        time.sleep(0.01)
    return True


@job
def touch_and_wait(begun: str, path: str) -> bool:
    """Shows that it has begun, then waits."""
    Path(begun).touch()
    return wait_for(path)


class Greeter:
    """Has a method that is a job."""

    def __init__(self, greeting: str = "hello") -> None:
        self._greeting = greeting

    @job
    def greet(self, name: str) -> str:
        """On an object of its own each time."""
        return f"{self._greeting} {name}"


def not_a_job() -> None:
    """Nobody has said that it may be run."""
