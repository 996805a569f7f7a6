"""Schedules in the file: with what they put into queues, from earlier files, and damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor
from twisted.internet.defer import Deferred, inlineCallbacks

from fmqbus.errors import StoreFailed
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Message, PeerFacts, Principal
from fmqbus.router.service import Router
from fmqbus.schedules.errands import Errand, Order
from fmqbus.schedules.table import Schedule
from fmqbus.schedules.timing import Cron, Every, Timing
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.stores.sqlite import schema
from fmqbus.stores.sqlite.plug import Files, SQLiteMessages, SQLiteSchedules
from fmqbus.stores.sqlite.rows import APPEND, SCHEDULES, Statement, digest
from fmqbus.stores.sqlite.schedule_rows import END, PUT
from fmqbus.testing.bus import MemoryClient, OpenPolicy
from tests.stores.sqlite.samples import append, database, read, write

#: A test that waits; pytest-twisted waits for it.
Steps = Generator[Deferred[Any], Any, None]


def schedule(key: str, timing: Timing | None = None) -> Schedule:
    """A schedule as the store gets it."""
    owner = Principal("memory", PeerFacts("memory"))
    return Schedule(key, timing or Every(60), Order(Errand(Message(b"q", b"x"), b"q"), owner), 1e9)


def kept(path: Path, **options: Any) -> list[Schedule]:
    """What schedules the file keeps."""
    one = database(path, **options)
    try:
        return one.schedules()
    finally:
        one.close(in_order=True)


def test_a_file_of_before_there_were_schedules_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that it keeps."""
    path = tmp_path / "bus.db"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", schema.STEPS[:1])
        patch.setattr("fmqbus.stores.sqlite.damage.TABLES", ())
        write(path, [[append(1)]])
    write(path, [[(PUT, schedule("a")), (PUT, schedule("b"))], [(END, "b")]])
    assert kept(path) == [schedule("a")]
    assert read(path)[0] == ([(b"q", 1, b"x")], [])


def test_a_damaged_schedule_is_told_and_the_rest_can_be_gone_on_with(tmp_path: Path) -> None:
    """By its key."""
    path = tmp_path / "bus.db"
    write(path, [[(PUT, schedule(key)) for key in "abc"]])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schedules SET due = due + 1 WHERE key = ?", (b"b",))
    connection.close()
    with pytest.raises(StoreFailed, match="schedules b'b'"):
        kept(path)
    assert kept(path, damaged="set-aside") == [schedule("a"), schedule("c")]


def test_a_time_zone_that_the_system_has_forgotten_is_told(tmp_path: Path) -> None:
    """Rather than run at another time, or not at all."""
    path = tmp_path / "bus.db"
    write(path, [[(PUT, schedule("a", Cron("0 3 * * *", "Europe/Kyiv")))]])
    with sqlite3.connect(path) as connection:
        (row,) = connection.execute("SELECT * FROM schedules").fetchall()
        place = SCHEDULES.columns.index("timing")
        timing = row[place].replace(b"Kyiv", b"Nowhere")
        columns = (*row[:place], timing, *row[place + 1 : -1])
        connection.execute("UPDATE schedules SET timing = ?, digest = ?", (timing, digest(*columns)))
    connection.close()
    with pytest.raises(StoreFailed, match="schedule 'a': there is no time zone 'Europe/Nowhere'"):
        kept(path)


@inlineCallbacks
def test_a_run_and_what_it_put_into_its_queue_are_committed_together(tmp_path: Path) -> Steps:
    """In one file: whenever the process ends, there is a message for each run, and one only."""
    path = tmp_path / "bus.db"
    files, options = Files(), {"path": str(path)}
    router = Router(
        clock=reactor,
        authorizers=[OpenPolicy()],
        retained=MemoryRetainedStore(),
        message_store=SQLiteMessages(files).make(reactor, DEFAULT_LIMITS, options),
        schedule_store=SQLiteSchedules(files).make(reactor, DEFAULT_LIMITS, options),
    )
    groups: list[list[Statement]] = []
    has_run: Deferred[None] = Deferred()
    one = files.file(reactor, options).database
    write_group = one.write

    def watched(changes: Any) -> None:
        write_group(changes)
        groups.append([statement for statement, _ in changes])
        if any(END in group for group in groups):
            reactor.callFromThread(has_run.callback, None)  # type: ignore[attr-defined]

    one.write = watched  # type: ignore[method-assign]
    router.startService()
    yield router.when_recovered()
    client = MemoryClient(router)
    yield client.schedule("k", Every(60), b"x", b"q", runs=1)
    yield has_run
    assert groups == [[PUT], [APPEND, END]]
    client.close()
    yield router.stopService()
    assert read(path)[0][0] == [(b"q", 1, b"x")]
    assert kept(path) == []
