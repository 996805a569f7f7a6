"""How are small things brought to the disk so that a crash leaves all of them or nothing?"""

from __future__ import annotations

import os
from pathlib import Path

#: The broker's user writes, its group may read, and nobody else.
FOLDER_MODE = 0o750
FILE_MODE = 0o640


def append_line(path: Path, line: bytes) -> None:
    """Add a line by one write, and force it to the disk. Raises `OSError`; then nothing has been added."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
    try:
        size = os.fstat(file).st_size
        if os.write(file, line) < len(line):
            os.ftruncate(file, size)
            raise OSError(f"{path}: a line could not be written whole")
        os.fsync(file)
    finally:
        os.close(file)


def cut_last_line(path: Path) -> None:
    """Take away a line that was never finished."""
    try:
        octets = path.read_bytes()
    except FileNotFoundError:
        return
    whole = octets.rfind(b"\n") + 1
    if whole < len(octets):
        os.truncate(path, whole)


def force_names(folder: Path) -> None:
    """Force to the disk what files there are."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
