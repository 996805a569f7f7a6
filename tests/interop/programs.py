"""EventMQ's programs, started with a folder for their logs, and ended with all that they have started.

Runs also where only EventMQ is installed. What EventMQ needs to be told is in the environment.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO

#: Far more than anything here needs on a busy machine.
PATIENCE_SECONDS = 60.0
_STOP_SECONDS = 6.0

#: A module of jobs, which these programs find in their folder.
JOBS_MODULE = "interop_jobs"
JOBS = '''
import os, time
from eventmq import job

def mark(path, token):
    with open(path, "a") as file:
        file.write(token + "\\n")
    return token

def mark_and_sleep(path, token, seconds):
    """The first time it takes long; then the mark is there already."""
    is_first = not os.path.exists(path)
    mark(path, token)
    if is_first:
        time.sleep(seconds)
    return token

@job
def delayed(path, token):
    return mark(path, token)
'''


def python() -> str:
    """The Python that has EventMQ."""
    return os.environ.get("EVENTMQ_PYTHON", sys.executable)


def marks(path: Path) -> list[str]:
    """The tokens that jobs have left in a file, in their order."""
    return path.read_text().split() if path.exists() else []


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> float | None:
    """How many seconds it took until it was so; None if it was not."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > seconds:
            return None
        time.sleep(0.05)
    return time.monotonic() - begun


def free_endpoints() -> dict[str, str]:
    """Where a broker could listen, by the names of its sockets."""
    names = ("frontend", "backend", "admin", "pubin", "pubout")
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in names]
        ports = [one.getsockname()[1] for one in sockets]
    return {name: f"tcp://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)}


class Program:
    """One program, and its log."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self._log.read_text()

    def terminate(self) -> int | None:
        """Ask it to end; returns its exit status, None if it does not."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(PATIENCE_SECONDS)
        return None

    def kill(self) -> None:
        """End it and all that it has started at once: EventMQ's jobmanager leaves processes behind if it dies."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class Programs:
    """All that were started in one folder; a context manager that ends them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Program] = []
        (folder / f"{JOBS_MODULE}.py").write_text(JOBS)

    def jobmanager(
        self, backend: str, slots: int = 2, queues: Sequence[tuple[int, str]] = ((10, "default"),)
    ) -> Program:
        """EventMQ's worker, for the broker at this endpoint."""
        names = ("EVENTMQ_WORKER_ADDR", "EVENTMQ_WORKER_ADDR_DEFAULT", "EVENTMQ_WORKER_ADDR_FAILOVER")
        settings = {**dict.fromkeys(names, backend), "EVENTMQ_QUEUES": json.dumps(queues)}
        return self.start(self._script("emq-jobmanager"), "-J", str(slots), settings=settings)

    def scheduler(self, frontend: str) -> Program:
        """EventMQ's scheduler, which does without Redis."""
        settings = {"EVENTMQ_SCHEDULER_ADDR": frontend, "EVENTMQ_REDIS_STARTUP_ERROR_HARD_KILL": "false"}
        return self.start(self._script("emq-scheduler"), settings=settings)

    def broker(self, places: Mapping[str, str]) -> Program:
        """EventMQ's broker, with its sockets at these endpoints; that for publications is a program of its own."""
        settings = {
            "EVENTMQ_FRONTEND_ADDR": places["frontend"],
            "EVENTMQ_BACKEND_ADDR": places["backend"],
            "EVENTMQ_ADMINISTRATIVE_ADDR": places["admin"],
            "EVENTMQ_PUBLISHER_INCOMING_ADDR": places["pubin"],
            "EVENTMQ_PUBLISHER_OUTGOING_ADDR": places["pubout"],
            "EVENTMQ_WAL": str(self.folder / "wal.log"),
        }
        self.start(self._script("emq-pubsub"), settings=settings)
        return self.start(self._script("emq-router"), settings=settings)

    def command_line(self, admin: str, *words: str) -> str:
        """Say something to EventMQ's command line; returns what it has printed."""
        run = subprocess.run(
            [python(), self._script("emq-cli"), "-a", admin],
            input="".join(f"{word}\n" for word in (*words, "quit")),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        return run.stdout

    def start(self, *command: str, settings: dict[str, str] | None = None, stdin: int = subprocess.DEVNULL) -> Program:
        """Run something with that Python. With a pipe as input its output is one too."""
        path = os.pathsep.join([str(self.folder), str(Path(__file__).parents[2])])
        none = str(self.folder / "none.conf")
        environment = {**os.environ, "PYTHONPATH": path, "EVENTMQ_CONFIG_FILE": none, **(settings or {})}
        log = self.folder / f"{len(self._started)}-{Path(command[-1 if command[0] == '-m' else 0]).name}.log"
        is_piped = stdin == subprocess.PIPE
        with log.open("w") as file:
            output: int | IO[str] = subprocess.PIPE if is_piped else file
            errors: int | IO[str] = file if is_piped else subprocess.STDOUT
            process = subprocess.Popen(
                [python(), *command],
                env=environment,
                stdin=stdin,
                stdout=output,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._started.append(Program(process, log))
        return self._started[-1]

    def stop(self) -> None:
        """End all of them."""
        for program in reversed(self._started):
            if program.process.poll() is None:
                program.process.terminate()
        wait_for(lambda: all(program.process.poll() is not None for program in self._started), _STOP_SECONDS)
        for program in self._started:
            program.kill()

    def __enter__(self) -> Programs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _script(self, name: str) -> str:
        return str(Path(python()).with_name(name))
