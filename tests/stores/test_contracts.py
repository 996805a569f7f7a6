"""Do the stores that come with fmqbus, and the kit's fake, keep the contracts that vendors' stores must keep?"""

from __future__ import annotations

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from twisted.internet import reactor
from zope.interface.verify import verifyObject

from fmqbus.interfaces import (
    IMessageStore,
    IMessageStoreMaker,
    IRetainedStore,
    IRetainedStoreMaker,
    IScheduleStore,
    IScheduleStoreMaker,
)
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.stores.memory import MemoryRetainedStore, MemoryStore
from fmqbus.stores.sqlite.plug import (
    Files,
    SQLiteMessages,
    SQLiteRetained,
    SQLiteSchedules,
    sqlite_messages,
    sqlite_retained,
    sqlite_schedules,
)
from fmqbus.testing.contracts.message_store import MessageStoreContract
from fmqbus.testing.contracts.retained_store import DurableRetainedStoreContract, RetainedStoreContract
from fmqbus.testing.contracts.schedule_store import ScheduleStoreContract
from fmqbus.testing.message_store import MemoryMessageStore
from fmqbus.testing.schedule_store import MemoryScheduleStore


class TestMemoryMessageStore(MessageStoreContract):
    """The kit's fake."""

    def make_store(self) -> IMessageStore:
        return MemoryMessageStore()

    def reopen(self, store: IMessageStore) -> IMessageStore:
        assert isinstance(store, MemoryMessageStore)
        return MemoryMessageStore(store.medium)

    def crash(self, store: IMessageStore) -> IMessageStore:
        assert isinstance(store, MemoryMessageStore)
        return MemoryMessageStore(deepcopy(store.medium))


class TestMemoryRetainedStore(RetainedStoreContract):
    """What a bus uses that is told of no other."""

    def make_store(self, messages: int) -> IRetainedStore:
        return MemoryRetainedStore(Limits(retained_topics=messages))


class TestSQLiteMessageStore(MessageStoreContract):
    """In a file."""

    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    def make_store(self) -> IMessageStore:
        options = {"path": str(self._folder / "bus.db"), "commit_seconds": 0.001}
        return SQLiteMessages(Files()).make(reactor, DEFAULT_LIMITS, options)

    def reopen(self, store: IMessageStore) -> IMessageStore:
        return self.make_store()

    def crash(self, store: IMessageStore) -> IMessageStore:
        after = self._folder / "after the crash"
        shutil.copytree(self._folder, after)
        self._folder = after
        return self.make_store()


class TestSQLiteRetainedStore(DurableRetainedStoreContract):
    """In a file."""

    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self._path = tmp_path / "bus.db"

    def make_store(self, messages: int) -> IRetainedStore:
        return SQLiteRetained(Files()).make(reactor, Limits(retained_topics=messages), {"path": str(self._path)})

    def reopen(self, store: IRetainedStore, messages: int) -> IRetainedStore:
        return self.make_store(messages)


class TestMemoryScheduleStore(ScheduleStoreContract):
    """The kit's fake."""

    def make_store(self) -> IScheduleStore:
        return MemoryScheduleStore()

    def reopen(self, store: IScheduleStore) -> IScheduleStore:
        assert isinstance(store, MemoryScheduleStore)
        return MemoryScheduleStore(store.kept)

    def crash(self, store: IScheduleStore) -> IScheduleStore:
        assert isinstance(store, MemoryScheduleStore)
        return MemoryScheduleStore(dict(store.kept))


class TestSQLiteScheduleStore(ScheduleStoreContract):
    """In a file."""

    @pytest.fixture(autouse=True)
    def _choose(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    def make_store(self) -> IScheduleStore:
        options = {"path": str(self._folder / "bus.db"), "commit_seconds": 0.001}
        return SQLiteSchedules(Files()).make(reactor, DEFAULT_LIMITS, options)

    def reopen(self, store: IScheduleStore) -> IScheduleStore:
        return self.make_store()

    def crash(self, store: IScheduleStore) -> IScheduleStore:
        after = self._folder / "after the crash"
        shutil.copytree(self._folder, after)
        self._folder = after
        return self.make_store()


@pytest.mark.parametrize(
    ("interface", "maker"),
    [
        (IRetainedStoreMaker, MemoryStore()),
        (IRetainedStoreMaker, sqlite_retained),
        (IMessageStoreMaker, sqlite_messages),
        (IScheduleStoreMaker, sqlite_schedules),
    ],
)
def test_makers_provide_their_interface(interface: Any, maker: Any) -> None:
    """With the signature that the bus calls."""
    assert verifyObject(interface, maker)
