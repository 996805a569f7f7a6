"""Methods for queues: ``enqueue``, ``consume``, ``settle``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IUMQCaller, IUMQMethod
from fmqbus.model import NO_PROPERTIES, Message, Outcome, Terms
from fmqbus.names import from_text
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import parse_id
from fmqbus.protocols.umq.methods.arguments import Arguments, Properties, payload_of

_Seconds = Annotated[float, Meta(ge=0)]
_Count = Annotated[int, Meta(ge=1)]


class EnqueueOptions(Properties, frozen=True):
    """See docs/protocols/umq.md."""

    priority: Annotated[int, Meta(ge=0, le=9)] = 0
    time_to_live: _Seconds | None = None
    delay: _Seconds = 0.0

    @property
    def terms(self) -> Terms:
        """What is asked of the queue."""
        return Terms(priority=self.priority, time_to_live=self.time_to_live, delay=self.delay)


class EnqueueArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    queue: str
    payload: str | None = None
    options: EnqueueOptions = EnqueueOptions()


@implementer(IPlugin, IUMQMethod)
class Enqueue:
    """``enqueue``: answered when the message is as safe as its queue makes it."""

    name = "enqueue"
    summary = "a message to a queue"
    arguments = EnqueueArguments

    def call(
        self, caller: IUMQCaller, arguments: EnqueueArguments, attachments: Sequence[Attachment]
    ) -> Deferred[None] | None:
        options = arguments.options
        queue = from_text(arguments.queue)
        payload = payload_of(arguments.payload, attachments)
        message = Message(queue, payload, properties=options.properties or NO_PROPERTIES)
        safe: Deferred[None] | None = caller.bus.enqueue(queue, message, options.terms)
        return safe


class ConsumeOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """See docs/protocols/umq.md."""

    window: _Count = 100
    weight: _Count = 1


class ConsumeArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    queue: str
    id: str
    options: ConsumeOptions = ConsumeOptions()


@implementer(IPlugin, IUMQMethod)
class Consume:
    """``consume``."""

    name = "consume"
    summary = "updates for the messages of a queue, each to be settled"
    arguments = ConsumeArguments

    def call(self, caller: IUMQCaller, arguments: ConsumeArguments, attachments: Sequence[Attachment]) -> None:
        options = arguments.options
        caller.consume(from_text(arguments.queue), parse_id(arguments.id), options.window, options.weight)


class SettleArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    id: str
    numbers: Sequence[int]
    outcome: Outcome
    reason: str = ""


@implementer(IPlugin, IUMQMethod)
class Settle:
    """``settle``."""

    name = "settle"
    summary = "what became of messages of a queue"
    arguments = SettleArguments

    def call(self, caller: IUMQCaller, arguments: SettleArguments, attachments: Sequence[Attachment]) -> int:
        return caller.settle(parse_id(arguments.id), arguments.numbers, arguments.outcome, arguments.reason)


enqueue = Enqueue()
consume = Consume()
settle = Settle()
