"""How what is said gathers in groups, and what becomes of it when the disk fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults, inlineCallbacks
from twisted.logger import LogLevel, capturedLogs, formatEvent

from fmqbus.errors import StoreFailed
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Message, StoredMessage
from fmqbus.stores.sqlite.database import Database
from fmqbus.stores.sqlite.file import DatabaseFile
from fmqbus.stores.sqlite.message_store import SQLiteMessageStore
from fmqbus.stores.sqlite.options import Options
from fmqbus.stores.sqlite.retained_store import SQLiteRetainedStore
from fmqbus.stores.sqlite.rows import Statement
from tests.stores.sqlite.samples import read

Steps = Generator[Deferred[Any], Any, None]


class Recorder(Database):
    """Remembers how many changes each commit had, and fails when the test says so."""

    def __init__(self, path: Path, options: Options) -> None:
        super().__init__(path, options)
        self.commits: list[int] = []
        self.error: Exception | None = None

    def write(self, changes: Iterable[tuple[Statement, Any]]) -> None:
        """As the database does."""
        changes = list(changes)
        self.commits.append(len(changes))
        if self.error is not None:
            raise self.error
        super().write(changes)


class Bench:
    """A file with a store of each kind."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.options = Options(str(path), **options)
        self.file = DatabaseFile(reactor, self.options)
        self.database = self.file.database = Recorder(path, self.options)
        self.messages = SQLiteMessageStore(self.file)
        self.retained = SQLiteRetainedStore(self.file, DEFAULT_LIMITS)

    def append(self, *numbers: int, octets: int = 1) -> None:
        """Messages come into a queue."""
        for number in numbers:
            self.messages.append(StoredMessage(b"q", number, Message(b"q", bytes(octets))))

    def remove(self, *numbers: int) -> None:
        """Messages are done with."""
        for number in numbers:
            self.messages.remove(b"q", number)

    def recover(self) -> Deferred[Any]:
        """Both stores are there."""
        return gatherResults([self.messages.recover(), self.retained.recover()], consumeErrors=True)

    def close(self) -> Deferred[Any]:
        """Both stores are closed."""
        return gatherResults([self.messages.close(), self.retained.close()])

    def kept(self) -> list[int]:
        """The numbers of the messages in the file, which is closed."""
        return [number for _, number, _ in read(self.path)[0][0]]


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    """Make stores over one and the same file."""
    return lambda **options: Bench(tmp_path / "bus.db", **options)


@inlineCallbacks
def test_what_is_said_at_once_is_one_commit(bench: Callable[..., Bench]) -> Steps:
    """Of both stores together."""
    one = bench(commit_seconds=0.001)
    yield one.recover()
    one.append(1, 2, 3)
    one.retained.put(Message(b"a", b"1"))
    yield one.messages.commit()
    assert one.database.commits == [4]
    yield one.close()


@inlineCallbacks
def test_what_is_over_before_it_is_due_is_never_written(bench: Callable[..., Bench]) -> Steps:
    """A message that is accepted at once costs the disk nothing; a topic's last message is the only one that counts."""
    one = bench(commit_seconds=0.001)
    yield one.recover()
    one.append(1, 2, 3)
    one.remove(1, 2, 3)
    for number in range(10):
        one.retained.put(Message(b"a", b"%d" % number))
    yield one.messages.commit()
    assert one.database.commits == [1]
    yield one.close()


@inlineCallbacks
def test_who_waits_at_leisure_waits_for_the_groups_time(bench: Callable[..., Bench]) -> Steps:
    """A message that a consumer has already may be accepted meanwhile. Who cannot wait has it done for all."""
    one = bench(commit_seconds=1)
    yield one.recover()
    one.append(1, 2)
    at_leisure = one.messages.commit(at_leisure=True)
    one.remove(1)
    assert not at_leisure.called
    assert one.database.commits == []
    yield one.messages.commit()
    assert at_leisure.called
    assert one.database.commits == [1]
    yield one.close()


@inlineCallbacks
def test_a_group_is_committed_when_its_time_has_come_also_if_nobody_waits(bench: Callable[..., Bench]) -> Steps:
    """A removal that nobody waits for is not kept back until something else happens."""
    one = bench(commit_seconds=0.001)
    yield one.recover()
    one.append(1)
    waited = one.messages.commit()
    yield waited
    one.remove(1)
    while len(one.database.commits) < 2:
        later: Deferred[None] = Deferred()
        reactor.callLater(0.001, later.callback, None)
        yield later
    yield one.close()


@pytest.mark.parametrize(
    ("options", "octets"), [({"commit_operations": 5}, 1), ({"commit_octets": 5_000}, 1_000)], ids=["changes", "octets"]
)
@inlineCallbacks
def test_a_large_group_does_not_wait_for_its_time(
    bench: Callable[..., Bench], options: dict[str, Any], octets: int
) -> Steps:
    """It is due when it is so many changes, or so many octets."""
    one = bench(commit_seconds=1, **options)
    yield one.recover()
    one.append(1, 2, 3, 4, octets=octets)
    one.append(5, octets=octets)
    committed = one.messages.commit(at_leisure=True)
    one.append(6, 7, octets=octets)
    yield committed
    assert one.database.commits == [5]
    yield one.close()
    assert one.database.commits == [5, 2]


@inlineCallbacks
def test_what_is_said_together_is_not_parted(bench: Callable[..., Bench]) -> Steps:
    """However large the group becomes; it is due then."""
    one = bench(commit_seconds=1, commit_operations=2)
    yield one.recover()
    with one.messages.together():
        one.append(*range(1, 8))
        with one.messages.together():
            one.append(8)
        one.append(9)
    one.append(10)
    yield one.messages.commit()
    assert one.database.commits == [9, 1]
    yield one.close()


@inlineCallbacks
def test_while_one_group_is_committed_the_next_one_gathers(bench: Callable[..., Bench]) -> Steps:
    """However much it becomes: what the disk can do decides."""
    one = bench(commit_operations=2)
    yield one.recover()
    one.append(1, 2)
    one.append(*range(3, 20))
    one.remove(*range(10, 20))
    yield one.messages.commit()
    assert one.database.commits == [2, 7]
    yield one.close()


@inlineCallbacks
def test_a_commit_is_for_all_that_was_said_before_it(bench: Callable[..., Bench]) -> Steps:
    """Whoever waits for the second group hears after those who wait for the first."""
    one = bench(commit_operations=1)
    yield one.recover()
    told: list[str] = []
    one.append(1)
    first = one.messages.commit().addCallback(lambda _: told.append("first"))
    one.append(2)
    second = one.messages.commit().addCallback(lambda _: told.append("second"))
    one.remove(2)
    third = one.messages.commit().addCallback(lambda _: told.append("third"))
    yield gatherResults([first, second, third])
    assert told == ["first", "second", "third"]
    yield one.close()


@inlineCallbacks
def test_one_store_of_a_file_can_be_closed_before_the_other(bench: Callable[..., Bench]) -> Steps:
    """The file is open for as long as one of them is."""
    one = bench()
    yield one.recover()
    one.append(1)
    yield one.messages.close()
    one.retained.put(Message(b"a", b"1"))
    yield one.retained.close()
    (messages, retained), _ = read(one.path)
    assert len(messages) == len(retained) == 1


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("disk I/O error"), OSError("no such device"), ZeroDivisionError("our mistake")]
)
@inlineCallbacks
def test_a_store_that_fails_says_so_to_all_from_then_on(bench: Callable[..., Bench], error: Exception) -> Steps:
    """Nothing is acknowledged that is not safe, and nothing is written after what is missing. The log has it once."""
    one = bench(commit_operations=1)
    yield one.recover()
    one.append(1)
    yield one.messages.commit()
    one.database.error = error
    one.append(2)
    in_flight = one.messages.commit()
    one.append(3)
    waiting = one.messages.commit()
    with capturedLogs() as events:
        for commit in (in_flight, waiting):
            with pytest.raises(StoreFailed, match=f"bus.db: {error}"):
                yield commit
        one.database.error = None
        one.append(4)
        one.retained.put(Message(b"a", b"1"))
        with pytest.raises(StoreFailed):
            yield one.messages.commit()
        yield one.close()
    assert [formatEvent(event) for event in events if event["log_level"] is LogLevel.critical][:1] == [
        f"{one.path}: {error}; the store takes nothing more"
    ]
    assert one.database.commits == [1, 1]
    assert [message.topic for message in one.retained.matching(b"a")] == [b"a"], "in memory, the bus goes on"
    assert one.kept() == [1]


@inlineCallbacks
def test_a_full_disk_is_a_failure(bench: Callable[..., Bench]) -> Steps:
    """What was acknowledged before is there at the next start; of the group that did not fit, nothing is."""
    one = bench()
    yield one.recover()
    one.append(*range(100), octets=100)
    yield one.messages.commit()
    connection = one.database._connection
    assert connection is not None
    connection.execute("PRAGMA max_page_count = 20")
    one.append(*range(100, 200), octets=1000)
    with pytest.raises(StoreFailed, match="database or disk is full"):
        yield one.messages.commit()
    yield one.close()
    assert one.kept() == list(range(100))


@inlineCallbacks
def test_after_a_failure_every_message_is_marked_as_after_a_crash(bench: Callable[..., Bench]) -> Steps:
    """Deliveries could not be written any more."""
    one = bench(commit_operations=1)
    yield one.recover()
    one.append(1)
    yield one.messages.commit()
    one.database.error = sqlite3.OperationalError("disk I/O error")
    one.append(2)
    with pytest.raises(StoreFailed):
        yield one.messages.commit()
    yield one.close()
    again = bench()
    ((stored,), _) = yield again.recover()
    assert stored.is_redelivered
    yield again.close()


@inlineCallbacks
def test_a_file_that_another_broker_has_open_is_refused(bench: Callable[..., Bench]) -> Steps:
    """Until that has ended."""
    one, other = bench(), bench()
    yield one.recover()
    with pytest.raises(StoreFailed, match=r"bus\.db: another broker has it open"):
        yield other.messages.recover()
    with pytest.raises(StoreFailed):
        yield other.messages.commit()
    yield other.close()
    one.append(1)
    yield one.close()
    later = bench()
    ((stored,), _) = yield later.recover()
    assert stored.number == 1
    yield later.close()


@inlineCallbacks
def test_two_buses_in_one_process_do_not_share_what_they_keep(bench: Callable[..., Bench]) -> Steps:
    """Each of their queues would count from one."""
    one = bench()
    yield one.recover()
    with pytest.raises(StoreFailed, match="another bus of this process"):
        yield SQLiteMessageStore(one.file).recover()
    one.append(1)
    yield one.messages.commit()
    yield one.close()


@inlineCallbacks
def test_only_the_brokers_user_can_read_what_is_kept(tmp_path: Path) -> Steps:
    """The file, its log, and the folder that is made for them."""
    one = Bench(tmp_path / "lib" / "bus.db")
    yield one.recover()
    one.append(1)
    yield one.messages.commit()
    assert (tmp_path / "lib").stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "lib").iterdir()}
    assert modes == dict.fromkeys(("bus.db", "bus.db-wal", "bus.db-shm"), 0o600)
    yield one.close()
    assert [path.name for path in (tmp_path / "lib").iterdir()] == ["bus.db"]


@inlineCallbacks
def test_a_copy_can_be_made_while_the_broker_runs(bench: Callable[..., Bench], tmp_path: Path) -> Steps:
    """By SQLite's own means. Whoever begins with it may have been handed all that is in it."""
    one = bench()
    yield one.recover()
    one.append(1, 2)
    yield one.messages.commit()
    with sqlite3.connect(one.path) as source, sqlite3.connect(tmp_path / "copy.db") as copy:
        source.backup(copy)
    source.close()
    copy.close()
    one.append(3)
    yield one.close()
    assert one.kept() == [1, 2, 3]
    restored = Bench(tmp_path / "copy.db")
    messages, _ = yield restored.recover()
    assert [(stored.number, stored.is_redelivered) for stored in messages] == [(1, True), (2, True)]
    yield restored.close()


@inlineCallbacks
def test_a_place_that_cannot_be_written_to_is_a_failure(tmp_path: Path) -> Steps:
    """With the reason that the system gives."""
    (tmp_path / "file").touch()
    one = Bench(tmp_path / "file" / "bus.db")
    with pytest.raises(StoreFailed, match=r"File exists|Not a directory"):
        yield one.messages.recover()
    yield one.close()


@inlineCallbacks
def test_what_is_noted_at_the_opening_is_logged(tmp_path: Path) -> Steps:
    """An operator should know."""
    (tmp_path / "bus.db").touch()
    one = Bench(tmp_path / "bus.db")
    with capturedLogs() as events:
        yield one.recover()
    assert [formatEvent(event) for event in events] == [f"{one.path}: the file was there, and was empty"]
    yield one.close()


def test_nothing_is_touched_before_it_is_recovered(tmp_path: Path) -> None:
    """A configuration can be checked beside a running broker."""
    one = Bench(tmp_path / "lib" / "bus.db")
    one.retained.put(Message(b"a", b"1"))
    assert list(tmp_path.iterdir()) == []
