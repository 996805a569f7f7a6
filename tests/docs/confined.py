"""What a unit of systemd forbids, a broker of the tests is forbidden too: system calls, and memory that can be written
and executed. By libseccomp and by Linux itself; where one of them is missing, that much less is forbidden.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tests.live.broker import PATIENCE_SECONDS

#: Before all else in the child. The numbers are those of seccomp.h and prctl.h.
_CONFINE = """
import ctypes
process = ctypes.CDLL(None)
if {no_execution}:
    process.prctl(65, 1, 0, 0, 0)
try:
    seccomp = ctypes.CDLL("libseccomp.so.2")
except OSError:
    seccomp = None
if seccomp and {calls}:
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_init.argtypes = [ctypes.c_uint32]
    seccomp.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
    ]
    seccomp.seccomp_load.argtypes = [ctypes.c_void_p]
    rules = seccomp.seccomp_init(0x50001)
    for call in {calls}:
        seccomp.seccomp_rule_add_array(rules, 0x7FFF0000, seccomp.seccomp_syscall_resolve_name(call), 0, None)
    process.prctl(38, 1, 0, 0, 0)
    seccomp.seccomp_load(rules)
"""


def confined(program: str, unit: Path) -> str:
    """The program, as the unit would have it run."""
    text = unit.read_text(encoding="utf-8")
    calls = sorted(call.encode() for call in _allowed(re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE)))
    return _CONFINE.format(calls=calls, no_execution="MemoryDenyWriteExecute=yes" in text) + program


def _allowed(filters: list[str]) -> set[str]:
    """The system calls that these leave; none if there is nobody to ask what they mean."""
    if shutil.which("systemd-analyze") is None:
        return set()
    allowed: set[str] = set()
    for one in filters:
        calls = {call for group in one.removeprefix("~").split() for call in _calls_of(group)}
        allowed = allowed - calls if one.startswith("~") else allowed | calls
    # systemd allows these whatever is said
    return allowed | _calls_of("@default")


def _calls_of(group: str) -> set[str]:
    """The system calls of a group, and of those within it."""
    if not group.startswith("@"):
        return {group}
    asked = ["systemd-analyze", "syscall-filter", group]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS).stdout
    members = [line.strip() for line in said.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    return {call for member in members for call in _calls_of(member)}
