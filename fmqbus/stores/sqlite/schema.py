"""What does the database look like, and how does one from an earlier fmqbus become like that?

The version of a file is the number of steps that it has taken. A step once released is never changed; what is to be
different is a further step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from fmqbus.errors import StoreFailed

#: "FMQB", in the file's head: SQLite's own way to tell whose a database is.
APPLICATION_ID = 0x464D5142

#: Another program may look at the file, and make us wait for so long.
BUSY_SECONDS = 5.0

STEPS: Sequence[Sequence[str]] = (
    (
        """
        CREATE TABLE life (
            id INTEGER PRIMARY KEY,
            is_open INTEGER NOT NULL,
            crashes INTEGER NOT NULL,
            digest BLOB NOT NULL
        )
        """,
        """
        CREATE TABLE messages (
            queue BLOB NOT NULL,
            number INTEGER NOT NULL,
            topic BLOB NOT NULL,
            payload BLOB NOT NULL,
            is_retain INTEGER NOT NULL,
            is_will INTEGER NOT NULL,
            properties BLOB NOT NULL,
            priority INTEGER NOT NULL,
            expires_at REAL,
            not_before REAL NOT NULL,
            deliveries INTEGER NOT NULL,
            is_redelivered INTEGER NOT NULL,
            crashes INTEGER NOT NULL,
            digest BLOB NOT NULL,
            PRIMARY KEY (queue, number)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE retained (
            serial INTEGER PRIMARY KEY,
            topic BLOB NOT NULL UNIQUE,
            payload BLOB NOT NULL,
            is_retain INTEGER NOT NULL,
            is_will INTEGER NOT NULL,
            properties BLOB NOT NULL,
            digest BLOB NOT NULL
        )
        """,
    ),
    (
        """
        CREATE TABLE schedules (
            key BLOB PRIMARY KEY,
            due REAL NOT NULL,
            runs_left INTEGER,
            is_paused INTEGER NOT NULL,
            missed BLOB NOT NULL,
            timing BLOB NOT NULL,
            queue BLOB,
            topic BLOB NOT NULL,
            payload BLOB NOT NULL,
            is_retain INTEGER NOT NULL,
            is_will INTEGER NOT NULL,
            properties BLOB NOT NULL,
            terms BLOB NOT NULL,
            owner BLOB NOT NULL,
            digest BLOB NOT NULL
        ) WITHOUT ROWID
        """,
    ),
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection that begins transactions when it is told to. Nothing is read yet."""
    # One thread uses it, but a pool says which.
    connection = sqlite3.connect(path, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = bytes  # we store no text, and a damaged row may claim to be some that is none
    return connection


def prepare(connection: sqlite3.Connection, synchronous: str) -> None:
    """Make the file one of this version. Raises `StoreFailed` for one that is not ours, or is of a later version."""
    _claim(connection)
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != b"wal":
        raise StoreFailed("the file system cannot carry SQLite's write-ahead log")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    for version in range(_number(connection, "user_version"), len(STEPS)):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            for statement in STEPS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _claim(connection: sqlite3.Connection) -> None:
    owner, version = _number(connection, "application_id"), _number(connection, "user_version")
    if owner != APPLICATION_ID and (owner or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone()):
        raise StoreFailed("it is a database, but not one of fmqbus")
    if owner == APPLICATION_ID and version < 1:
        raise StoreFailed("its head is damaged: it says that nothing is in it")
    if version > len(STEPS):
        raise StoreFailed(f"a later fmqbus wrote it, in version {version}; this one knows {len(STEPS)} and less")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
