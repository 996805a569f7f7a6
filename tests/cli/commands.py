"""The ``fmqbus`` command in child processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.live.broker import PATIENCE_SECONDS, path_of_fmqbus

_PROGRAM = "from fmqbus.cli.main import main; main()"


def start(*arguments: str, url: str = "", output: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
    """Start a command with pipes to it. Without a URL it finds no bus, not even one that runs here by chance."""
    environment = {
        **os.environ,
        "PYTHONPATH": path_of_fmqbus(),
        "PYTHONUNBUFFERED": "1",
        "FMQBUS_URL": url or "fmqp+unix:///nowhere",
    }
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.PIPE,
    )


class Ended:
    """What a command has written, and its exit code."""

    def __init__(self, process: subprocess.Popen[bytes], said: bytes = b"") -> None:
        self.output, self.errors = process.communicate(said, PATIENCE_SECONDS)
        self.code = process.returncode

    @property
    def lines(self) -> Sequence[str]:
        """The lines of standard output."""
        return self.output.decode().splitlines()


def run(*arguments: str, url: str = "", said: bytes = b"") -> Ended:
    """Run a command to its end, with `said` as standard input."""
    return Ended(start(*arguments, url=url), said)
