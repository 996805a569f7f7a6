"""The parts that a configuration file names by ``message_store = "sqlite"``, ``retained_store`` and
``schedule_store``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IMessageStoreMaker, IRetainedStoreMaker, IScheduleStoreMaker
from fmqbus.limits import Limits
from fmqbus.stores.sqlite.file import DatabaseFile
from fmqbus.stores.sqlite.message_store import SQLiteMessageStore
from fmqbus.stores.sqlite.options import Options, parse_options
from fmqbus.stores.sqlite.retained_store import SQLiteRetainedStore
from fmqbus.stores.sqlite.schedule_store import SQLiteScheduleStore


class Files:
    """The files of this process. All stores of a bus have the same options, and are in the same file."""

    def __init__(self) -> None:
        self._files: WeakValueDictionary[tuple[Any, Options], DatabaseFile] = WeakValueDictionary()

    def file(self, clock: Any, table: Mapping[str, Any]) -> DatabaseFile:
        """The file that ``[stores.sqlite]`` tells of. Raises `ConfigError`."""
        options = parse_options(table)
        return self._files.setdefault((clock, options), DatabaseFile(clock, options))


@implementer(IPlugin, IMessageStoreMaker)
class SQLiteMessages:
    """Makes stores for queues."""

    name = "sqlite"

    def __init__(self, files: Files) -> None:
        self._files = files

    def make(self, clock: Any, limits: Limits, options: Mapping[str, Any]) -> SQLiteMessageStore:
        return SQLiteMessageStore(self._files.file(clock, options))


@implementer(IPlugin, IRetainedStoreMaker)
class SQLiteRetained:
    """Makes stores for retained messages."""

    name = "sqlite"

    def __init__(self, files: Files) -> None:
        self._files = files

    def make(self, clock: Any, limits: Limits, options: Mapping[str, Any]) -> SQLiteRetainedStore:
        return SQLiteRetainedStore(self._files.file(clock, options), limits)


@implementer(IPlugin, IScheduleStoreMaker)
class SQLiteSchedules:
    """Makes stores for schedules."""

    name = "sqlite"

    def __init__(self, files: Files) -> None:
        self._files = files

    def make(self, clock: Any, limits: Limits, options: Mapping[str, Any]) -> SQLiteScheduleStore:
        return SQLiteScheduleStore(self._files.file(clock, options))


_files = Files()
sqlite_messages = SQLiteMessages(_files)
sqlite_retained = SQLiteRetained(_files)
sqlite_schedules = SQLiteSchedules(_files)
