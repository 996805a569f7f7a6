"""A real broker for tests: twistd in a child process, known by its log and its exit code."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

import fmqbus

#: Far more than a busy machine needs; whoever waits so long waits in vain.
PATIENCE_SECONDS = 30.0

_TWISTD = "from twisted.scripts.twistd import run; run()"


def path_of_fmqbus() -> str:
    """Where a child finds the same code as the test, and what the test itself was told to find."""
    return os.pathsep.join([str(Path(fmqbus.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])


def path_of_tests() -> str:
    """The same for a child that is a part of the tests itself, which are not installed."""
    return os.pathsep.join([path_of_fmqbus(), str(Path(__file__).parents[2])])


class Broker:
    """``twistd -n COMMAND ARGUMENTS``, listening on loopback ports that the kernel chooses unless told otherwise.

    A context manager: entered, it listens; left, it has ended, by force if need be.
    """

    def __init__(self, *arguments: str, command: str = "fmqbus", twistd: tuple[str, ...] = ()) -> None:
        self.log: list[str] = []
        self._grown = threading.Condition()
        self._is_over = False
        self._arguments = ["-n", "--pidfile=", *twistd, command, *(arguments or ("--listen", "fmqp:tcp:0"))]
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> Broker:
        """Start the child and wait until it listens."""
        self.launch()
        self.wait_for("listens at")
        return self

    def launch(self) -> Broker:
        """Start the child; it may end by itself."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TWISTD, *self._arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def wait_for(self, pattern: str, count: int = 1) -> re.Match[str]:
        """Return the match of the first log line that fits, or of the `count`-th; waits for it to come."""
        with self._grown:
            done = self._grown.wait_for(lambda: len(self._found(pattern)) >= count or self._is_over, PATIENCE_SECONDS)
            found = self._found(pattern)
        assert len(found) >= count, f"no {pattern!r} {'at the end' if done else 'in time'} in the log:\n{self.text}"
        return found[count - 1]

    def port_of(self, listener: str = "") -> int:
        """The port that the kernel chose for the first listener whose description begins so; of those for clients, if
        nothing is said. That of operators is open before them."""
        description = re.escape(listener) or r"(?<!\S)(?!http:)"
        return int(self.wait_for(rf"{description}\S* listens at \S+:(\d+)")[1])

    @property
    def environment(self) -> dict[str, str]:
        """For the child, and for commands that talk to it: they run the same code as the test, from whatever
        directory."""
        return {**os.environ, "PYTHONPATH": path_of_fmqbus(), "PYTHONUNBUFFERED": "1"}

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return self.port_of()

    @property
    def text(self) -> str:
        """The log so far, with what went to stderr."""
        return "\n".join(self.log)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._child.pid

    def connect(self, listener: str = "") -> socket.socket:
        """A connection to the first listener whose description begins so, with a time limit for each step."""
        connection = socket.create_connection(("127.0.0.1", self.port_of(listener)), PATIENCE_SECONDS)
        # who says one thing after the other is not to wait for the kernel to gather more
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._child.send_signal(number)

    def wait(self) -> int:
        """Wait for the end; returns the exit code, negative for a signal as `subprocess` has it."""
        code = self._child.wait(PATIENCE_SECONDS)
        assert self._reader is not None
        self._reader.join(PATIENCE_SECONDS)
        assert self._child.stdout is not None
        self._child.stdout.close()
        return code

    def stop(self) -> int:
        """End softly; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._child.returncode is None:
            self._child.kill()
            self.wait()

    @property
    def _child(self) -> subprocess.Popen[str]:
        assert self._process is not None, "the broker has not been started"
        return self._process

    def _found(self, pattern: str) -> list[re.Match[str]]:
        return [match for line in self.log if (match := re.search(pattern, line))]

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            with self._grown:
                self.log.append(line.rstrip("\n"))
                self._grown.notify_all()
        with self._grown:
            self._is_over = True
            self._grown.notify_all()
