"""A process that runs jobs: those of some modules, and some more by name.

It is told what to run on its standard input and answers on descriptor 3; what jobs print goes where the worker's own
output goes. The jobs run in the main thread, as in any program; another one reads, so that the end of the pool is the
end of the process at once, whatever a job is doing, and of all that the job has started.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import BinaryIO

import msgspec

from fmqbus.job_functions import Name
from fmqbus.worker.jobs import Jobs
from fmqbus.worker.messages import Broken, Done, Progress, Raised, Ready, Run, Told, decode_run, encode

#: Where the pool listens.
ANSWERS = 3
_TRACEBACK_CHARACTERS = 16_000
_TEXT_CHARACTERS = 4_000
_PAGE_OCTETS = os.sysconf("SC_PAGESIZE")

_answers: BinaryIO | None = None
_is_answering = threading.Lock()


def progress(fraction: float, note: str = "") -> None:
    """From within a job: tell whoever waits how far it is, 0 to 1. Elsewhere it does nothing."""
    if _answers is not None:
        _answer(Progress(min(max(float(fraction), 0.0), 1.0), note[:_TEXT_CHARACTERS]))


def main(arguments: Sequence[str]) -> None:
    """Load, then run what comes until nothing more can come. The arguments are modules, ``--``, and what else is
    allowed, see `Jobs.load`."""
    global _answers
    os.setsid()
    middle = arguments.index("--")
    modules, allowed = arguments[:middle], arguments[middle + 1 :]
    requests = _take_over(sys.stdin.fileno())
    _answers = os.fdopen(ANSWERS, "wb", buffering=0)
    os.set_inheritable(ANSWERS, False)
    try:
        jobs = Jobs.load(modules, allowed)
    except BaseException as error:
        # before the pool hears of it, which then ends this process at once
        traceback.print_exc()
        _answer(Broken(f"{type(error).__name__}: {error}"[:_TEXT_CHARACTERS]))
        sys.exit(1)
    _answer(Ready({str(job.name): job.timeout for job in jobs}))
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(requests, lines), daemon=True).start()
    while True:
        end = _run(jobs, decode_run(lines.get()))
        # what the job has printed is there when its end is told; it may also have closed where it prints to
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError, ValueError):
                stream.flush()
        _answer(end)


def _take_over(descriptor: int) -> BinaryIO:
    """Read from here privately: jobs, and what they start, get an empty input."""
    private = os.dup(descriptor)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
    return os.fdopen(private, "rb")


def _read(requests: BinaryIO, lines: SimpleQueue[bytes]) -> None:
    for line in requests:
        lines.put(line)
    os.killpg(0, signal.SIGKILL)


def _run(jobs: Jobs, run: Run) -> Done | Raised:
    name = Name(run.path, run.callable)
    job = jobs.find(name)
    if job is None:
        return Raised("LookupError", f"{name} is no job of this worker", "", _memory())
    try:
        value = job.call(run.args, run.kwargs, run.class_args, run.class_kwargs)
        return Done(msgspec.Raw(msgspec.json.encode(value)), _memory())
    except Exception as error:
        text = str(error) or type(error).__name__
        trace = "".join(traceback.format_exception(error))
        return Raised(type(error).__name__, text[:_TEXT_CHARACTERS], trace[-_TRACEBACK_CHARACTERS:], _memory())


def _answer(message: Told) -> None:
    assert _answers is not None, "only called in a process of a pool"
    with _is_answering:
        data = memoryview(encode(message))
        while data:
            data = data[_answers.write(data) :]


def _memory() -> int:
    """What of this process is in memory, in octets."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[1]) * _PAGE_OCTETS
