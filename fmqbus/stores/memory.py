"""Retained messages in memory: gone with the process. Bounded in messages and in octets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import ConfigError, Overloaded, StoreFailed
from fmqbus.interfaces import IRetainedStore, IRetainedStoreMaker
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import Message
from fmqbus.topic_index import TopicIndex


def _octets(message: Message) -> int:
    return len(message.topic) + len(message.payload)


@implementer(IRetainedStore)
class MemoryRetainedStore:
    """`IRetainedStore` for brokers that start with nothing kept."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._kept: TopicIndex[tuple[int, Message]] = TopicIndex()
        self._serial = count()
        self._octets = 0

    @property
    def failure(self) -> StoreFailed | None:
        return None

    def recover(self) -> Deferred[None]:
        return succeed(None)

    def put(self, message: Message) -> None:
        former = self._kept.get(message.topic)
        octets = self._octets + _octets(message) - (_octets(former[1]) if former else 0)
        if octets > self._limits.retained_octets or (not former and len(self._kept) >= self._limits.retained_topics):
            raise Overloaded("no room to retain another message")
        self._kept.set(message.topic, (next(self._serial), message))
        self._octets = octets

    def put_before(self, messages: Sequence[Message]) -> None:
        """Keep these as older than all that has been put; for a topic that has a message already, that one stays.

        Once, and beyond the bounds if need be: what an earlier broker has kept is not thrown away.
        """
        for serial, message in enumerate(messages, -len(messages)):
            if self._kept.get(message.topic) is None:
                self._kept.set(message.topic, (serial, message))
                self._octets += _octets(message)

    def remove(self, topic: bytes) -> bool:
        former = self._kept.discard(topic)
        if former is None:
            return False
        self._octets -= _octets(former[1])
        return True

    def get(self, topic: bytes) -> Message | None:
        kept = self._kept.get(topic)
        return kept[1] if kept else None

    def matching(self, pattern: bytes) -> Sequence[Message]:
        if not self._kept:
            return ()
        found = self._kept.matching(pattern, self._limits.replay_visits)
        return [message for _, message in sorted((kept for _, kept in found), key=itemgetter(0))]

    def __len__(self) -> int:
        return len(self._kept)

    def close(self) -> Deferred[None]:
        return succeed(None)


@implementer(IPlugin, IRetainedStoreMaker)
class MemoryStore:
    """``retained_store = "memory"``, which is the default. It has no options."""

    name = "memory"

    def make(self, clock: Any, limits: Limits, options: Mapping[str, Any]) -> MemoryRetainedStore:
        if options:
            raise ConfigError(f"stores.memory.{next(iter(options))}: the memory store has no options")
        return MemoryRetainedStore(limits)
