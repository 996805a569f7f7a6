"""Methods for topics: ``publish``, ``retain``, ``will``, ``subscribe``, ``watch``, ``unsubscribe``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import ISession, IUMQCaller, IUMQMethod
from fmqbus.model import NO_PROPERTIES, Message, Overflow
from fmqbus.names import from_text
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import parse_id
from fmqbus.protocols.umq.methods.arguments import Arguments, Properties, payload_of


class PublishOptions(Properties, frozen=True):
    """See docs/protocols/umq.md."""

    retain: bool = False


class PublishArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    topic: str
    payload: str | None = None
    options: PublishOptions = PublishOptions()


class RetainArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    topic: str
    payload: str | None = None
    options: Properties = Properties()


@implementer(IPlugin, IUMQMethod)
class Publishing:
    """A method that gives a message to a topic."""

    def __init__(
        self,
        name: str,
        summary: str,
        arguments: type[PublishArguments] | type[RetainArguments],
        give: Callable[[ISession, Message], None],
        is_will: bool = False,
    ) -> None:
        """`give` is what is asked of the session."""
        self.name = name
        self.summary = summary
        self.arguments = arguments
        self._give = give
        self._is_will = is_will

    def call(
        self, caller: IUMQCaller, arguments: PublishArguments | RetainArguments, attachments: Sequence[Attachment]
    ) -> None:
        options = arguments.options
        retain = options.retain if isinstance(options, PublishOptions) else True
        payload = payload_of(arguments.payload, attachments)
        properties = options.properties or NO_PROPERTIES
        self._give(caller.bus, Message(from_text(arguments.topic), payload, retain, self._is_will, properties))


publish = Publishing("publish", "a message to a topic", PublishArguments, lambda bus, message: bus.publish(message))
retain = Publishing(
    "retain", "a message that is kept for later subscribers", RetainArguments, lambda bus, message: bus.publish(message)
)
will = Publishing(
    "will",
    "a message for when this client has gone",
    PublishArguments,
    lambda bus, message: bus.set_will(message),
    is_will=True,
)


class SubscribeOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """See docs/protocols/umq.md."""

    overflow: Overflow | None = None
    hidden: bool = False


class SubscribeArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    pattern: str
    id: str
    options: SubscribeOptions = SubscribeOptions()


@implementer(IPlugin, IUMQMethod)
class Subscribe:
    """``subscribe``: each client has one subscription for a pattern; a second one takes the place of the first."""

    name = "subscribe"
    summary = "updates for the messages of topics"
    arguments = SubscribeArguments

    def call(self, caller: IUMQCaller, arguments: SubscribeArguments, attachments: Sequence[Attachment]) -> None:
        options = arguments.options
        caller.subscribe(from_text(arguments.pattern), parse_id(arguments.id), options.hidden, options.overflow)


class WatchArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    pattern: str
    id: str


@implementer(IPlugin, IUMQMethod)
class Watch:
    """``watch``."""

    name = "watch"
    summary = "updates for the number of subscribers"
    arguments = WatchArguments

    def call(self, caller: IUMQCaller, arguments: WatchArguments, attachments: Sequence[Attachment]) -> None:
        caller.watch(from_text(arguments.pattern), parse_id(arguments.id))


class UnsubscribeArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    id: str


@implementer(IPlugin, IUMQMethod)
class Unsubscribe:
    """``unsubscribe``: what the command U does, with an answer."""

    name = "unsubscribe"
    summary = "no more updates of what subscribe, watch or consume began"
    arguments = UnsubscribeArguments

    def call(self, caller: IUMQCaller, arguments: UnsubscribeArguments, attachments: Sequence[Attachment]) -> bool:
        return caller.end_topic(parse_id(arguments.id))


subscribe = Subscribe()
watch = Watch()
unsubscribe = Unsubscribe()
