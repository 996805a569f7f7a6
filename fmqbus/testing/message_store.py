"""An `IMessageStore` in memory, for tests of what will stand on queues; its medium outlives it, as a disk would."""

from __future__ import annotations

from collections.abc import Sequence

from twisted.internet.defer import Deferred, fail, succeed
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import Overloaded
from fmqbus.interfaces import IMessageStore
from fmqbus.model import Message


class Medium:
    """What a store writes to. Several stores, one after the other, can be opened over it."""

    def __init__(self) -> None:
        self.queues: dict[bytes, dict[int, Message]] = {}
        self.last_number = 0


@implementer(IPlugin, IMessageStore)
class MemoryMessageStore:
    """Keeps at most so many messages."""

    def __init__(self, messages: int, medium: Medium | None = None) -> None:
        self.messages = messages
        self.medium = medium or Medium()

    def append(self, queue: bytes, message: Message) -> Deferred[int]:
        if sum(map(len, self.medium.queues.values())) >= self.messages:
            return fail(Overloaded("the store is full"))
        self.medium.last_number += 1
        self.medium.queues.setdefault(queue, {})[self.medium.last_number] = message
        return succeed(self.medium.last_number)

    def remove(self, queue: bytes, number: int) -> Deferred[None]:
        self.medium.queues.get(queue, {}).pop(number, None)
        return succeed(None)

    def recover(self, queue: bytes) -> Deferred[Sequence[tuple[int, Message]]]:
        return succeed(tuple(self.medium.queues.get(queue, {}).items()))

    def queues(self) -> Deferred[Sequence[bytes]]:
        return succeed([name for name, messages in self.medium.queues.items() if messages])

    def close(self) -> Deferred[None]:
        return succeed(None)
