"""Which of the client's own subscriptions and watches does a name concern? Several of them may share one pattern."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from fmqbus.topic_index import TopicIndex

T = TypeVar("T")

#: What is searched is what the application itself asked for: nobody else can make it grow.
_BUDGET = sys.maxsize


class Equivalents(Generic[T]):
    """Things by trimmed name, found by equivalence."""

    def __init__(self) -> None:
        self._index: TopicIndex[list[T]] = TopicIndex()

    def add(self, name: bytes, thing: T) -> None:
        """Keep a thing under a name."""
        things = self._index.get(name)
        if things is None:
            self._index.set(name, [thing])
        else:
            things.append(thing)

    def remove(self, name: bytes, thing: T) -> None:
        """Forget a thing that is kept."""
        things = self._index.get(name) or []
        things.remove(thing)
        if not things:
            self._index.discard(name)

    def at(self, name: bytes) -> Sequence[T]:
        """The things kept under exactly this name."""
        return self._index.get(name) or ()

    def matching(self, name: bytes) -> list[T]:
        """The things kept under names equivalent to this one; a list of the caller's own."""
        return [thing for _, things in self._index.matching(name, _BUDGET) for thing in things]

    def names(self) -> Iterator[bytes]:
        """All names that something is kept under, in no particular order."""
        return (name for name, _ in self._index)

    def __iter__(self) -> Iterator[T]:
        """All things. Take a copy before changing anything."""
        return (thing for _, things in self._index for thing in things)
