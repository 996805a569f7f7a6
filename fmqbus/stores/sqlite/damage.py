"""What of a database is damaged, and how is the rest of it saved?

SQLite knows whether the tree of pages is whole, which nothing but a look at all of them tells; the digests know whether
the rows are. Saving makes a new file from the rows that are whole, and leaves the damaged one beside it as it is.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from fmqbus.errors import StoreFailed
from fmqbus.stores.sqlite.rows import KEPT, LIFE, TABLES, Row, Table, is_whole, life_row
from fmqbus.stores.sqlite.schema import connect, prepare
from fmqbus.stores.sqlite.wal import log_of

#: How SQLite says that something cannot be read; the second where its words quote what is damaged.
READING_ERRORS = (sqlite3.DatabaseError, UnicodeDecodeError)

#: So much of a long list is told.
_TOLD = 10


def find_damage(connection: sqlite3.Connection) -> list[str]:
    """What is damaged, in words; empty if nothing is. Reads the whole file."""
    damage: list[str] = []
    try:
        damage += [text.decode() for (text,) in connection.execute("PRAGMA quick_check") if text != b"ok"]
    except READING_ERRORS as error:
        damage.append(str(error))
    for table in TABLES:
        deque(_whole_rows(connection, table, damage), maxlen=0)
    return damage


def is_damage(error: sqlite3.DatabaseError | UnicodeDecodeError) -> bool:
    """Whether the file is at fault, and not the disk, the rights or somebody who has it open."""
    if isinstance(error, UnicodeDecodeError):
        return True
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def in_words(damage: Sequence[str]) -> str:
    """One line for people."""
    more = f" and {len(damage) - _TOLD:,} more" if len(damage) > _TOLD else ""
    return "; ".join(damage[:_TOLD]) + more


def aside_name(path: Path) -> Path:
    """Where a damaged file is put."""
    return path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%S')}")


def set_aside(path: Path, aside: Path, damaged: sqlite3.Connection) -> int:
    """Put a new file with all rows that are whole in the place of the damaged one, which is closed and goes to `aside`.

    Returns how many rows could be saved. Raises `StoreFailed` if somebody else has the file open.
    """
    fresh_path = path.with_name(f"{path.name}.fresh")
    fresh_path.unlink(missing_ok=True)
    fresh_path.touch(0o600)
    fresh = connect(fresh_path)
    prepare(fresh, "full")
    with fresh:
        fresh.execute("BEGIN")
        for table in KEPT:
            fresh.executemany(table.insert, _whole_rows(damaged, table, []))
        # What has happened to any of the messages is not known, as after a crash.
        (crashes,) = fresh.execute("SELECT coalesce(max(crashes), 0) FROM messages").fetchone()
        fresh.execute(LIFE.insert, life_row(True, crashes))
    saved = sum(fresh.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0] for table in KEPT)
    fresh.close()
    damaged.close()
    if log_of(path).exists():
        # The new file would be taken for the old one, by its name.
        raise StoreFailed("damaged, and another program has it open")
    os.link(path, aside)
    fresh_path.replace(path)
    return int(saved)


def _whole_rows(connection: sqlite3.Connection, table: Table, damage: list[str]) -> Iterator[Row]:
    """Yield the rows that are whole, as far as the table can be read; tell of all else in `damage`."""
    try:
        for row in connection.execute(table.select):
            if is_whole(row):
                yield row
            else:
                damage.append(f"{table.name} {' '.join(map(repr, row[: len(table.key)]))}")
    except READING_ERRORS as error:
        damage.append(f"{table.name}: {error}")
