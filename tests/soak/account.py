"""What a member of the troupe writes down the moment it knows it, and how others read that.

One line for each event, one write for each line: a kill leaves it out or lets it be. Times are those of the system's
monotonic clock, which is one for all processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: The environment variable by which the processes of a worker know the file.
FILE = "SOAK_ACCOUNT"
#: Once there is a file of this name beside the accounts, nobody says anything any more.
QUIET = "quiet"


class Line(NamedTuple):
    """An event: when, what, and about whom or which."""

    at: float
    what: str
    about: list[str]


class Account:
    """The writing side. Words have no tabs, and no line ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, what: str, *about: object) -> None:
        """Write a line."""
        words = (f"{time.monotonic():.4f}", what, *(" ".join(str(each).split()) for each in about))
        os.write(self._descriptor, ("\t".join(words) + "\n").encode())


class Reading:
    """The reading side of one file, which may still grow."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def lines(self) -> Iterator[Line]:
        """What is new and whole."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
        new = new[: new.rfind(b"\n") + 1]
        self._offset += len(new)
        for line in new.decode().splitlines():
            at, what, *about = line.split("\t")
            yield Line(float(at), what, about)
