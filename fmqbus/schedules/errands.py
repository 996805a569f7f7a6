"""What does a schedule of the bus do, for whom, and what became of it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import msgspec

from fmqbus.model import PLAIN_TERMS, Action, Message, Principal, Terms
from fmqbus.schedules.table import Missed, Schedule

#: Of a key, in UTF-8.
MOST_KEY_OCTETS = 255


class Errand(msgspec.Struct, frozen=True, gc=False):
    """What is done at each run: a message is put into a queue, or published."""

    message: Message
    #: Where it is put; None if it is published on its own topic.
    queue: bytes | None = None
    #: Of a message for a queue.
    terms: Terms = PLAIN_TERMS

    @property
    def name(self) -> bytes:
        """The queue, or the topic."""
        return self.message.topic if self.queue is None else self.queue

    @property
    def actions(self) -> Sequence[Action]:
        """What one must be allowed at that name."""
        if self.queue is not None:
            return Action.SCHEDULE, Action.ENQUEUE
        if self.message.retain:
            return Action.SCHEDULE, Action.PUBLISH, Action.RETAIN
        return Action.SCHEDULE, Action.PUBLISH

    @property
    def octets(self) -> int:
        """What it counts against `Limits.scheduled_octets`."""
        message = self.message
        text = sum(len(key) + len(value) for key, value in message.properties.items())
        return len(message.topic) + len(message.payload) + len(self.queue or b"") + text


class Order(msgspec.Struct, frozen=True, gc=False):
    """An errand, and who ordered it: as whom it is done."""

    errand: Errand
    owner: Principal


@attrs.frozen(slots=True, kw_only=True)
class ScheduleSettings:
    """What holds where a schedule says nothing itself."""

    #: Of cron expressions: an IANA name.
    zone: str = "UTC"
    missed: Missed = Missed.ONCE


DEFAULT_SCHEDULE_SETTINGS = ScheduleSettings()


@attrs.frozen(slots=True)
class ScheduleStatus:
    """A schedule at one moment, for people."""

    #: Its `what` is an `Order`.
    schedule: Schedule
    #: Since the bus has it, or has it back: how often it has run, and how many of these runs came to nothing, by
    #: reason.
    runs: int = 0
    failed: Mapping[str, int] = attrs.field(factory=dict)
    #: POSIX seconds; None if it has not run since then.
    last_run: float | None = None
