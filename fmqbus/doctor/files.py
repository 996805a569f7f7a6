"""Can the bus read who its users are, and keep what it is to keep? Nothing is written to find that out."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from fmqbus.app.policy_file import read_policy
from fmqbus.auth.user_file import read_users
from fmqbus.doctor.findings import Finding, Patient, Severity, error, ok, warning
from fmqbus.errors import ConfigError
from fmqbus.limits import MIB
from fmqbus.stores.sqlite.options import parse_options
from fmqbus.stores.sqlite.wal import log_of

SQLITE = "sqlite"
#: Below the first, a day's work may fill the disk; below the second, an hour's.
_LITTLE_SPACE, _NO_SPACE = 1024 * MIB, 64 * MIB
#: What each database of SQLite begins with.
_MAGIC = b"SQLite format 3\0"
#: A larger file is not read through: that takes longer than somebody at a terminal waits.
_MOST_READ = 256 * MIB


def users(patient: Patient) -> Iterator[Finding]:
    """The file of users."""
    if patient.config.users.file is None:
        return
    path = Path(patient.config.users.file)
    try:
        file = read_users(path)
    except ConfigError as problem:
        cure = f"chmod 600 {path}" if "chmod" in str(problem) else f"fmqbus user list {path}"
        yield error(str(path), str(problem), f"fmqbus user add {path} NAME" if not path.exists() else cure)
        return
    if file.users:
        yield ok(str(path), f"{len(file.users):,} users")
    else:
        yield warning(str(path), "there is nobody in it", f"fmqbus user add {path} NAME")


def policy(patient: Patient) -> Iterator[Finding]:
    """The policy file."""
    if patient.config.access.policy is None:
        return
    path = Path(patient.config.access.policy)
    try:
        file, _ = read_policy(path)
    except ConfigError as problem:
        cure = f"chmod o-w {path}" if "chmod" in str(problem) else f"edit {path}: see docs/access.md"
        yield error(str(path), str(problem), cure)
        return
    yield ok(str(path), f"{len(file.rules):,} rules")
    if patient.config.users.file is None and (unknown := ", ".join(file.unknown_groups())):
        yield warning(str(path), f"rules speak of groups in which nobody is: {unknown}", "write them below [groups]")


def store(patient: Patient) -> Iterator[Finding]:
    """The file of the SQLite store, if anything is kept there. Stores of vendors cannot be looked at from here."""
    config = patient.config
    if SQLITE not in (config.message_store, config.retained_store, config.schedule_store):
        yield ok("store", "queues, retained messages and schedules are in memory alone, and end with the process")
        return
    try:
        path = Path(parse_options(config.stores.get(SQLITE, {})).path).absolute()
    except ConfigError:
        return  # the examination of the configuration tells
    yield from folder(path.parent, "the store")
    if path.exists():
        yield from _database(path)


def journal(patient: Patient) -> Iterator[Finding]:
    """The folder of the journal, if there is one."""
    path = patient.config.journal.path
    if path is not None:
        yield from folder(Path(path).absolute(), "the journal")


def folder(path: Path, whose: str) -> Iterator[Finding]:
    """Whether this user can write there, and how much."""
    there = next(one for one in (path, *path.parents) if one.exists())
    if not there.is_dir():
        yield error(str(path), f"{there} is no folder", f"choose another place for {whose}")
        return
    if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        who = f"user {os.geteuid()} may not write in {there}, and {whose} has to"
        yield error(str(path), who, f"sudo chown $USER {there}, or run this as the user of the bus")
        return
    free = shutil.disk_usage(there).free
    space = f"{free / MIB:,.0f} MiB are free for {whose}"
    if free < _NO_SPACE:
        yield error(str(path), space, f"df -h {there}")
    elif free < _LITTLE_SPACE:
        yield warning(str(path), space, f"df -h {there}")
    else:
        yield ok(str(path), space if there == path else f"it will be made; {space}")


def _database(path: Path) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        is_in_use = _is_in_use(path)
    except OSError as problem:
        yield error(str(path), f"cannot be opened: {problem.strerror}", f"ls -l {path}")
        return
    if mode & stat.S_IRWXO:
        yield warning(str(path), f"its mode is {mode:04o}, so others can read messages", f"chmod 600 {path}")
    finding = None if is_in_use else _whole(path)
    # what is read while a bus begins to write may look damaged
    if finding is None or (finding.severity is Severity.ERROR and _is_in_use(path)):
        finding = warning(str(path), "a bus that runs has it open", "none if that is meant")
    yield finding


def _is_in_use(path: Path) -> bool:
    """Whether a bus has it open. The lock is held for no longer than it takes to ask, or one that starts would fail."""
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _whole(path: Path) -> Finding:
    """Whether SQLite finds the file whole. It must not write, so a log that is not yet in the file is left alone."""
    with path.open("rb") as file:
        head = file.read(len(_MAGIC))
    if not head:
        return ok(str(path), "is empty")
    if head != _MAGIC:
        return _damaged(path, "it is no database of SQLite")
    log = log_of(path)
    if log.exists() and log.stat().st_size:
        return ok(str(path), "was not closed in order; what its log has is read at the next start")
    if path.stat().st_size > _MOST_READ:
        return ok(str(path), "can be opened; it is too large to be read through here")
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            complaints = [text for (text,) in connection.execute("PRAGMA quick_check(3)") if text != "ok"]
    except sqlite3.Error as problem:
        return _damaged(path, str(problem))
    return _damaged(path, "; ".join(complaints)) if complaints else ok(str(path), "is whole")


def _damaged(path: Path, text: str) -> Finding:
    return error(
        str(path),
        f"is damaged: {text}",
        f'cp {path} {path}.copy, then damaged = "set-aside" in [stores.sqlite]: see docs/durability.md',
    )
