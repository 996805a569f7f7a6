"""The thread's side of one database file: everything here blocks, and is called in one thread alone.

The first call opens the file. Errors of SQLite and of the system come out as they are; what is wrong with the file as
such is a `StoreFailed`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fmqbus.errors import StoreFailed
from fmqbus.model import Message, StoredMessage
from fmqbus.schedules.table import Schedule
from fmqbus.stores.sqlite.damage import READING_ERRORS, aside_name, find_damage, in_words, is_damage, set_aside
from fmqbus.stores.sqlite.options import Options
from fmqbus.stores.sqlite.rows import (
    LIFE,
    MESSAGES,
    RETAINED,
    SCHEDULES,
    Statement,
    life_row,
    retained_message,
    stored_message,
)
from fmqbus.stores.sqlite.schedule_rows import schedule_of
from fmqbus.stores.sqlite.schema import connect, prepare
from fmqbus.stores.sqlite.wal import log_of, read_tail


class Database:
    """One file. Nobody else can open it while this one has."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._options = options
        self._lock: int | None = None
        self._connection: sqlite3.Connection | None = None
        #: How often a broker has ended without closing the file, so far.
        self.crashes = 0
        #: What an operator should know of the opening, in words.
        self.notes: list[str] = []

    def messages(self) -> list[StoredMessage]:
        """All messages of queues, by queue and number."""
        return [stored_message(row, self.crashes) for row in self._opened().execute(MESSAGES.select)]

    def retained(self) -> list[Message]:
        """All retained messages, in the order in which they were last put."""
        return [retained_message(row) for row in self._opened().execute(RETAINED.select)]

    def schedules(self) -> list[Schedule]:
        """All schedules, by key."""
        return [schedule_of(row) for row in self._opened().execute(SCHEDULES.select)]

    def write(self, changes: Iterable[tuple[Statement, Any]]) -> None:
        """Commit these changes, of which no two are of the same row: all or none."""
        subjects_of: defaultdict[Statement, list[Any]] = defaultdict(list)
        for statement, subject in changes:
            subjects_of[statement].append(subject)
        if not subjects_of:
            return  # all was withdrawn
        connection = self._opened()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement, subjects in subjects_of.items():
                connection.executemany(statement.sql, map(statement.row, subjects))

    def close(self, in_order: bool) -> None:
        """Close the file, if it is open; `in_order` False leaves it as a crash would."""
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                if in_order:
                    connection.execute(LIFE.insert, life_row(False, self.crashes))
                connection.close()
        finally:
            self._unlock()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = self._open()
                self._begin(self._connection)
            except BaseException:
                self.close(in_order=False)
                raise
        return self._connection

    def _open(self) -> sqlite3.Connection:
        """Return the file's connection, or that of a new file with all that is whole."""
        self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
        was_there = self._path.exists()
        self._lock = _lock(self._path)
        damage = self._damage_of_files(was_there)
        aside = aside_name(self._path)
        if damage:
            self._refuse(damage)
            shutil.copy(log_of(self._path), log_of(aside))
        self._connection = connection = connect(self._path)
        try:
            prepare(connection, self._options.synchronous)
            damage += find_damage(connection)
        except READING_ERRORS as error:
            if not is_damage(error):
                raise
            damage.append(str(error))
        if not damage:
            return connection
        self._refuse(damage)
        saved = set_aside(self._path, aside, connection)
        self._unlock()
        self._lock = _lock(self._path)
        self.notes.append(f"damaged, and put aside as {aside}: {in_words(damage)}. {saved:,} rows are saved")
        self._connection = connection = connect(self._path)
        prepare(connection, self._options.synchronous)
        return connection

    def _damage_of_files(self, was_there: bool) -> list[str]:
        """What SQLite would not tell of, and would make an end of."""
        log = log_of(self._path)
        tail = read_tail(log)
        if was_there and not self._path.stat().st_size:
            if log.exists():
                return ["the file is empty, and its write-ahead log is not"]
            self.notes.append("the file was there, and was empty")
        elif tail.is_loss and self._options.synchronous == "full":
            return [f"the write-ahead log has {tail.frames} pages that were committed and cannot be read"]
        elif tail.frames:
            self.notes.append(
                "the last transaction is not there as a whole: power failed before it was on the disk, and it was "
                "acknowledged to nobody; or it has been damaged since"
            )
        return []

    def _refuse(self, damage: list[str]) -> None:
        if self._options.damaged == "refuse":
            raise StoreFailed(f'damaged: {in_words(damage)} (damaged = "set-aside" goes on without that)')

    def _begin(self, connection: sqlite3.Connection) -> None:
        row = connection.execute(LIFE.select).fetchone()
        _, was_open, crashes, _ = row or life_row(is_open=False, crashes=0)
        self.crashes = crashes + was_open
        connection.execute(LIFE.insert, life_row(True, self.crashes))
        _sync_folder(self._path.parent)

    def _unlock(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _lock(path: Path) -> int:
    """Make the file, for this user alone, if there is none, and lock it against other brokers.

    Closing a file would drop SQLite's own locks on it, those of this process: so it stays open until that has closed.
    """
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreFailed("another broker has it open") from None
    return lock


def _sync_folder(folder: Path) -> None:
    """Files that have been made or renamed are on the disk, too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
