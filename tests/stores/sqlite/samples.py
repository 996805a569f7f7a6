"""What the tests of the SQLite store write, and how they read it again: without threads, by the thread's side alone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fmqbus.model import Message, StoredMessage
from fmqbus.stores.sqlite.database import Database
from fmqbus.stores.sqlite.options import Options
from fmqbus.stores.sqlite.rows import APPEND, KEEP, REMOVE, Statement, snapshot_of

Change = tuple[Statement, Any]
#: All that a file keeps: messages of queues by queue, number and payload, and retained messages.
Content = tuple[list[tuple[bytes, int, bytes]], list[Message]]


def append(number: int, payload: bytes = b"x", queue: bytes = b"q") -> Change:
    """A message comes into a queue."""
    return APPEND, snapshot_of(StoredMessage(queue, number, Message(queue, payload)), 0)


def remove(number: int, queue: bytes = b"q") -> Change:
    """It is done with."""
    return REMOVE, (queue, number)


def keep(topic: bytes, payload: bytes = b"x") -> Change:
    """A message is retained."""
    return KEEP, Message(topic, payload, retain=True)


def database(path: Path, **options: Any) -> Database:
    """The file, not yet opened."""
    return Database(path, Options(str(path), **options))


def write(path: Path, groups: Sequence[Sequence[Change]], in_order: bool = True) -> None:
    """Write these groups, then close the file; `in_order` False leaves it as it is while it is open."""
    one = database(path)
    for group in groups:
        one.write(group)
    left = path.with_name("left")
    if not in_order:
        shutil.copytree(path.parent, left)
    one.close(in_order=True)
    if not in_order:
        for file in left.iterdir():
            file.replace(path.parent / file.name)
        left.rmdir()


def read(path: Path, **options: Any) -> tuple[Content, list[str]]:
    """What the file keeps, and what is noted at its opening. Raises what the opening raises."""
    one = database(path, **options)
    try:
        messages = [(stored.queue, stored.number, stored.message.payload) for stored in one.messages()]
        return (messages, one.retained()), one.notes
    finally:
        one.close(in_order=False)
