"""The method for batches: ``put_batch``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.calls import FailedAttachment
from fmqbus.errors import InvalidName, PeerError
from fmqbus.interfaces import IUMQCaller, IUMQMethod
from fmqbus.model import NO_PROPERTIES, PLAIN_TERMS, BatchPart, Message, Terms
from fmqbus.names import from_text
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.batch import BatchMessage, unpack
from fmqbus.protocols.umq.methods.arguments import Arguments
from fmqbus.schedules.errands import Errand


class PutBatchArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    producer: Annotated[str, Meta(max_length=255)]
    #: As much as all that write JSON agree on.
    number: Annotated[int, Meta(ge=0, lt=2**53)]
    part: Annotated[int, Meta(ge=0, lt=2**31)] = 0
    parts: Annotated[int, Meta(ge=1, le=2**31)] = 1
    digest: Annotated[str, Meta(max_length=128)] = ""


@implementer(IPlugin, IUMQMethod)
class PutBatch:
    """``put_batch``: answered when the batch is as safe as its queues make it; false if it has come before."""

    name = "put_batch"
    summary = "many messages, all or none, and only once"
    arguments = PutBatchArguments

    def call(
        self, caller: IUMQCaller, arguments: PutBatchArguments, attachments: Sequence[Attachment]
    ) -> Deferred[bool]:
        messages: list[BatchMessage] = []
        for attachment in attachments:
            if isinstance(attachment, FailedAttachment):
                raise PeerError(f"the messages could not be sent: {attachment.reason}", "attachments")
            try:
                messages += unpack(attachment)
            except msgspec.DecodeError as error:
                raise PeerError(f"the messages cannot be read: {error}", "arguments") from None
        if arguments.part >= arguments.parts:
            raise PeerError(f"there is no part {arguments.part} of {arguments.parts}; they count from 0", "arguments")
        part = BatchPart(arguments.part, arguments.parts, arguments.digest)
        errands = [_errand(place, message) for place, message in enumerate(messages)]
        put: Deferred[bool] = caller.bus.put_batch(arguments.producer, arguments.number, errands, part)
        return put


def _errand(place: int, said: BatchMessage) -> Errand:
    try:
        name = from_text(said.name)
    except InvalidName as error:
        raise InvalidName(f"message {place}: {error}", error.reason) from None
    properties = said.properties or NO_PROPERTIES
    if not said.to_queue:
        return Errand(Message(name, said.payload, said.retain, properties=properties))
    is_plain = not said.priority and said.time_to_live is None and not said.delay
    terms = PLAIN_TERMS if is_plain else Terms(priority=said.priority, time_to_live=said.time_to_live, delay=said.delay)
    return Errand(Message(name, said.payload, properties=properties), name, terms)


put_batch = PutBatch()
