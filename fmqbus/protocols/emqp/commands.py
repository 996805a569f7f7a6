"""What can be said in eMQP? (eMQP, Global Frames and the four parts of who speaks)

Values of both dialects: the specification's, and that of EventMQ 0.3, which differs in INFORM, REPLY, SCHEDULE and
PUBLISH and has words of its own. What headers, lists of queues and bodies say is read elsewhere, by whoever needs it.
"""

from __future__ import annotations

import enum
from typing import ClassVar

import msgspec


class Role(enum.Enum):
    """Who INFORMs a broker; the words of the specification."""

    WORKER = b"worker"
    SCHEDULER = b"scheduler"


class Command(msgspec.Struct, frozen=True, gc=False):
    """One message. Its fields are octets as the peer wrote them."""

    word: ClassVar[bytes]

    message_id: bytes

    @property
    def fields(self) -> tuple[bytes, ...]:
        """The parts behind the message id, as they are written."""
        return ()

    @property
    def texts(self) -> tuple[bytes, ...]:
        """Those that have to be text."""
        return self.fields


# Global


#: What our broker adds to the ACK of an INFORM: it knows PROGRESS. Our worker then adds it to its READYs: it needs no
#: nudging. Others ignore parts that they do not expect.
OURS = b"fmqbus"


class Ack(Command, frozen=True, gc=False):
    """ACK: a message has been accepted."""

    word = b"ACK"

    acknowledged: bytes
    #: The sender is a broker of ours.
    is_ours: bool = False

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.acknowledged, OURS) if self.is_ours else (self.acknowledged,)


class Reply(Command, frozen=True, gc=False):
    """REPLY. The specification does not say to what; EventMQ adds the id of the request."""

    word = b"REPLY"

    body: bytes
    #: None in the specification's dialect.
    request: bytes | None = None

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.body,) if self.request is None else (self.body, self.request)

    @property
    def texts(self) -> tuple[bytes, ...]:
        return self.fields[1:]


class Heartbeat(Command, frozen=True, gc=False):
    """HEARTBEAT. The time is POSIX seconds; it may be missing, and nobody relies on it."""

    word = b"HEARTBEAT"

    timestamp: bytes = b""

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.timestamp,)


class Disconnect(Command, frozen=True, gc=False):
    """DISCONNECT: stop. From a client or worker, that it stops itself; from administration, that the broker is to."""

    word = b"DISCONNECT"


class Goodbye(Command, frozen=True, gc=False):
    """KBAI in the specification, KBYE in the field: the sender goes."""

    word = b"KBYE"


class SpecifiedGoodbye(Goodbye, frozen=True, gc=False):
    """The same in the specification's dialect. Each side ignores the other's word, so both are sent."""

    word = b"KBAI"


# Client and publisher


class Request(Command, frozen=True, gc=False):
    """REQUEST: a job for a queue; and the same from the broker to a worker."""

    word = b"REQUEST"

    queue: bytes
    headers: bytes
    body: bytes

    @property
    def fields(self) -> tuple[bytes, ...]:
        return self.queue, self.headers, self.body

    @property
    def texts(self) -> tuple[bytes, ...]:
        return self.queue, self.headers


class Schedule(Command, frozen=True, gc=False):
    """SCHEDULE. The specification has no place for when; EventMQ has an interval, and a cron expression."""

    word = b"SCHEDULE"

    queue: bytes
    headers: bytes
    body: bytes
    #: In seconds, ``-1`` where the cron expression counts. None, as `cron`, in the specification's dialect.
    interval: bytes | None = None
    cron: bytes | None = None

    @property
    def fields(self) -> tuple[bytes, ...]:
        if self.interval is None or self.cron is None:
            return self.queue, self.headers, self.body
        return self.queue, self.headers, self.interval, self.body, self.cron

    @property
    def texts(self) -> tuple[bytes, ...]:
        return self.queue, self.headers, self.interval or b"", self.cron or b""


class Unschedule(Schedule, frozen=True, gc=False):
    """UNSCHEDULE: the body tells what; the rest does not matter."""

    word = b"UNSCHEDULE"


class Publish(Command, frozen=True, gc=False):
    """PUBLISH. Headers are in the specification's client section only; None without."""

    word = b"PUBLISH"

    topic: bytes
    body: bytes
    headers: bytes | None = None

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.topic, self.body) if self.headers is None else (self.topic, self.headers, self.body)

    @property
    def texts(self) -> tuple[bytes, ...]:
        return self.topic, self.headers or b""


# Worker and scheduler


class Inform(Command, frozen=True, gc=False):
    """INFORM: a worker or a scheduler is there."""

    word = b"INFORM"

    #: As `fmqbus.protocols.emqp.queue_lists` reads it; a scheduler's is empty.
    queues: bytes
    role: Role = Role.WORKER

    @property
    def fields(self) -> tuple[bytes, ...]:
        return self.queues, self.role.value


class Ready(Command, frozen=True, gc=False):
    """READY: a worker can take one job more."""

    word = b"READY"

    #: The sender is a worker of ours, which says so to a broker of ours only.
    is_ours: bool = False

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (OURS,) if self.is_ours else ()


class Progress(Command, frozen=True, gc=False):
    """PROGRESS: how far a job is, from a worker to a broker of ours, and from that to a client that has asked for it.
    Neither the specification nor EventMQ has it."""

    word = b"PROGRESS"

    #: As `fmqbus.protocols.emqp.results` reads it.
    body: bytes
    request: bytes

    @property
    def fields(self) -> tuple[bytes, ...]:
        return self.body, self.request

    @property
    def texts(self) -> tuple[bytes, ...]:
        return (self.request,)


# Administration, which the specification does not have


class Hello(Command, frozen=True, gc=False):
    """HELLO: what the command line of EventMQ says first. It takes any answer for that to its next question."""

    word = b"HELLO"


class Status(Command, frozen=True, gc=False):
    """STATUS; of EventMQ 0.4 with a word for what is asked."""

    word = b"STATUS"

    what: bytes = b""

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.what,) if self.what else ()


class ShowWorkers(Command, frozen=True, gc=False):
    """ROUTER_SHOW_WORKERS."""

    word = b"ROUTER_SHOW_WORKERS"


class ShowSchedulers(Command, frozen=True, gc=False):
    """ROUTER_SHOW_SCHEDULERS."""

    word = b"ROUTER_SHOW_SCHEDULERS"
