"""What does a program with all its processes need of the machine, job by job? By looking at /proc again and again."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import attrs

_LOOK_SECONDS = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@attrs.define
class Need:
    """What one job needed."""

    #: The most that all processes together had resident; what they share counts in each.
    peak_octets: int = 0
    #: Of all processors together.
    cpu_seconds: float = 0.0


class Watch:
    """Looks at all processes of one session, which is that of its first process, until closed."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._need = Need()
        self._cpu: dict[int, int] = {}
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """A job begins."""
        with self._lock:
            self._look()
            self._need = Need()

    def end(self) -> Need:
        """It has ended."""
        with self._lock:
            self._look()
            return attrs.evolve(self._need)

    def close(self) -> None:
        """Look no more."""
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_SECONDS):
            with self._lock:
                self._look()

    def _look(self) -> None:
        octets = 0
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            try:
                fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            # state, parent, group, session, ...: proc_pid_stat(5) counts from the process's number
            if int(fields[3]) != self._session:
                continue
            octets += int(fields[21]) * _PAGE
            ticks = int(fields[11]) + int(fields[12])
            self._need.cpu_seconds += (ticks - self._cpu.get(int(pid), 0)) / _TICKS
            self._cpu[int(pid)] = ticks
        self._need.peak_octets = max(self._need.peak_octets, octets)
