"""How is a file read on which it hangs who may do what? Of what was opened nothing can be exchanged any more, so
all that is looked at before it is believed is looked at there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from fmqbus.errors import ConfigError


def read_guarded(path: Path, most_octets: int, check: Callable[[Path, os.stat_result], object]) -> bytes:
    """Return what is in the file. `check` raises `ConfigError` for one that others might have written, or read.

    Raises `ConfigError`, which names the file, also where it cannot be read, is none, or is larger than this.
    """
    try:
        # A pipe in its place would have us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{path}: is no file")
            check(path, status)
            octets = file.read(most_octets + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(octets) > most_octets:
        raise ConfigError(f"{path}: has more than {most_octets} octets")
    return octets


def check_belongs_to_us(path: Path, status: os.stat_result) -> None:
    """Raise `ConfigError` unless it is root's or our own. Root may change what one without his rights reads, and reads
    it for one that is to give up these rights."""
    if os.geteuid() != 0 and status.st_uid not in (0, os.geteuid()):
        raise ConfigError(f"{path}: belongs to user {status.st_uid}, who is neither root nor the one that runs this")
