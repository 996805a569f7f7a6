"""What is to be committed together: of each thing, the last word that was said on it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from twisted.internet.defer import Deferred

from fmqbus.stores.sqlite.rows import Statement


class Group:
    """The changes between two commits, and who waits for them."""

    __slots__ = ("_changes", "octets", "waiting")

    def __init__(self) -> None:
        self._changes: dict[Hashable, tuple[Statement, Any, int]] = {}
        #: The sizes of all changes.
        self.octets = 0
        self.waiting: list[Deferred[None]] = []

    def __bool__(self) -> bool:
        """Whether there is something to do."""
        return bool(self._changes or self.waiting)

    def __len__(self) -> int:
        """How many changes there are."""
        return len(self._changes)

    def __iter__(self) -> Iterator[tuple[Statement, Any]]:
        """Each change with its subject, in the order in which they were said last."""
        return ((statement, subject) for statement, subject, _ in self._changes.values())

    def say(self, key: Hashable, statement: Statement, subject: Any, octets: int) -> None:
        """Change the thing of this key so, whatever was said of it before."""
        self.withdraw(key)
        self._changes[key] = (statement, subject, octets)
        self.octets += octets

    def said(self, key: Hashable) -> Statement | None:
        """The kind of change that is to be made to the thing of this key."""
        change = self._changes.get(key)
        return change[0] if change else None

    def withdraw(self, key: Hashable) -> None:
        """Say nothing of the thing of this key."""
        change = self._changes.pop(key, None)
        if change is not None:
            self.octets -= change[2]
