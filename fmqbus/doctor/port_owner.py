"""Who listens at a port? As far as the kernel tells this user. (proc_net_tcp, proc_pid_fd)"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

#: The state of a socket that listens, as the kernel writes it.
_LISTENS = "0A"


def owner_of(port: int, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """The process id and the command line of one who listens at this port; None if that cannot be seen."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    if not wanted:
        return None
    for folder in proc.glob("[0-9]*"):
        try:
            if any(os.readlink(handle) in wanted for handle in (folder / "fd").iterdir()):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                return int(folder.name), command
        except OSError:
            continue  # somebody else's, or gone
    return None


def _inodes(port: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        try:
            _, *lines = (proc / "net" / table).read_text().splitlines()
        except (OSError, ValueError):
            continue
        for fields in map(str.split, lines):
            if len(fields) > 9 and fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]
