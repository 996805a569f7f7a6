"""Methods for schedules: ``schedule``, ``unschedule``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IUMQCaller, IUMQMethod
from fmqbus.model import NO_PROPERTIES, Message
from fmqbus.names import from_text
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.methods.arguments import Arguments, payload_of
from fmqbus.protocols.umq.methods.queues import EnqueueOptions
from fmqbus.schedules.errands import Errand
from fmqbus.schedules.table import Missed
from fmqbus.schedules.timing import timing_of


class ScheduleOptions(EnqueueOptions, frozen=True):
    """See docs/protocols/umq.md."""

    to: Literal["queue", "topic"] = "queue"
    every: float | None = None
    cron: str | None = None
    zone: str | None = None
    at_once: bool = True
    runs: Annotated[int, Meta(ge=1)] | None = None
    missed: Missed | None = None
    retain: bool = False


class ScheduleArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    key: str
    name: str
    payload: str | None = None
    options: ScheduleOptions = ScheduleOptions()


@implementer(IPlugin, IUMQMethod)
class Schedule:
    """``schedule``: answered when the schedule is as safe as the bus makes it."""

    name = "schedule"
    summary = "a message to a queue or a topic, at certain times"
    arguments = ScheduleArguments

    def call(
        self, caller: IUMQCaller, arguments: ScheduleArguments, attachments: Sequence[Attachment]
    ) -> Deferred[None] | None:
        options = arguments.options
        name = from_text(arguments.name)
        is_queue = options.to == "queue"
        message = Message(
            name,
            payload_of(arguments.payload, attachments),
            options.retain and not is_queue,
            properties=options.properties or NO_PROPERTIES,
        )
        zone = caller.router.scheduling.settings.zone
        safe: Deferred[None] | None = caller.bus.schedule(
            arguments.key,
            timing_of(options.every, options.cron, options.zone, zone),
            Errand(message, name if is_queue else None, options.terms),
            options.at_once,
            options.runs,
            options.missed,
        )
        return safe


class UnscheduleArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    key: str


@implementer(IPlugin, IUMQMethod)
class Unschedule:
    """``unschedule``."""

    name = "unschedule"
    summary = "no more of what schedule began"
    arguments = UnscheduleArguments

    def call(
        self, caller: IUMQCaller, arguments: UnscheduleArguments, attachments: Sequence[Attachment]
    ) -> Deferred[bool]:
        ended: Deferred[bool] = caller.bus.unschedule(arguments.key)
        return ended


schedule = Schedule()
unschedule = Unschedule()
