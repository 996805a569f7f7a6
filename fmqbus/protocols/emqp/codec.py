"""eMQP messages: parts to commands and back. (eMQP, Global Frames and the four parts of who speaks)

A message is an empty part, the version, a command's word, a message id, and the command's own fields. Two dialects are
read, and written where a command says which: the specification's, and that of EventMQ 0.3, which differs in INFORM,
REPLY, SCHEDULE and PUBLISH and has words of its own. The codec only tells fields apart. What headers, lists of queues
and bodies say is read elsewhere, by whoever needs it.

Text is checked to be UTF-8, since the programs in the field do not survive any other. Bodies are not: who hands one on
as text has to look at it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import attrs

from fmqbus.errors import PeerError
from fmqbus.limits import Limits

VERSION = b"eMQP/1.0"


class Role(enum.Enum):
    """Who INFORMs a broker; the words of the specification."""

    WORKER = b"worker"
    SCHEDULER = b"scheduler"


@attrs.frozen(slots=True)
class Command:
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


@attrs.frozen(slots=True)
class Ack(Command):
    """ACK: a message has been accepted."""

    word = b"ACK"

    acknowledged: bytes

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.acknowledged,)


@attrs.frozen(slots=True)
class Reply(Command):
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


@attrs.frozen(slots=True)
class Heartbeat(Command):
    """HEARTBEAT. The time is POSIX seconds; it may be missing, and nobody relies on it."""

    word = b"HEARTBEAT"

    timestamp: bytes = b""

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.timestamp,)


@attrs.frozen(slots=True)
class Disconnect(Command):
    """DISCONNECT: stop. From a client or worker, that it stops itself; from administration, that the broker is to."""

    word = b"DISCONNECT"


@attrs.frozen(slots=True)
class Goodbye(Command):
    """KBAI in the specification, KBYE in the field: the sender goes."""

    word = b"KBYE"


@attrs.frozen(slots=True)
class SpecifiedGoodbye(Goodbye):
    """The same in the specification's dialect. Each side ignores the other's word, so both are sent."""

    word = b"KBAI"


# Client and publisher


@attrs.frozen(slots=True)
class Request(Command):
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


@attrs.frozen(slots=True)
class Schedule(Command):
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


@attrs.frozen(slots=True)
class Unschedule(Schedule):
    """UNSCHEDULE: the body tells what; the rest does not matter."""

    word = b"UNSCHEDULE"


@attrs.frozen(slots=True)
class Publish(Command):
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


@attrs.frozen(slots=True)
class Inform(Command):
    """INFORM: a worker or a scheduler is there."""

    word = b"INFORM"

    #: As `fmqbus.protocols.emqp.queue_lists` reads it; a scheduler's is empty.
    queues: bytes
    role: Role = Role.WORKER

    @property
    def fields(self) -> tuple[bytes, ...]:
        return self.queues, self.role.value


@attrs.frozen(slots=True)
class Ready(Command):
    """READY: a worker can take one job more."""

    word = b"READY"


# Administration, which the specification does not have


@attrs.frozen(slots=True)
class Hello(Command):
    """HELLO: what the command line of EventMQ says first. It takes any answer for that to its next question."""

    word = b"HELLO"


@attrs.frozen(slots=True)
class Status(Command):
    """STATUS; of EventMQ 0.4 with a word for what is asked."""

    word = b"STATUS"

    what: bytes = b""

    @property
    def fields(self) -> tuple[bytes, ...]:
        return (self.what,) if self.what else ()


@attrs.frozen(slots=True)
class ShowWorkers(Command):
    """ROUTER_SHOW_WORKERS."""

    word = b"ROUTER_SHOW_WORKERS"


@attrs.frozen(slots=True)
class ShowSchedulers(Command):
    """ROUTER_SHOW_SCHEDULERS."""

    word = b"ROUTER_SHOW_SCHEDULERS"


def encode(command: Command) -> list[bytes]:
    """The parts of a command, without anybody's identity."""
    return [b"", VERSION, command.word, command.message_id, *command.fields]


def decode(parts: Sequence[bytes], limits: Limits) -> Command:
    """Read the parts of a message, without its sender's identity; what follows the last field is ignored.

    Raises `PeerError` with reason ``parts`` (too few), ``no-empty-part``, ``version``, ``command``, ``role``, ``text``
    (no UTF-8, or more than `Limits.control_octets`).
    """
    if len(parts) < _ENVELOPE_PARTS:
        raise PeerError(f"{len(parts)} parts, at least {_ENVELOPE_PARTS}", "parts")
    empty, version, word, message_id, *fields = parts
    if empty:
        raise PeerError("the first part is not empty", "no-empty-part")
    if version != VERSION:
        raise PeerError(f"version {version[:20]!r}", "version")
    read = _READERS.get(word) or _READERS.get(word.upper())
    if read is None:
        raise PeerError(f"command {word[:20]!r}", "command")
    try:
        command = read(message_id, fields)
    except IndexError:
        raise PeerError(f"{word.decode()} of {len(parts)} parts", "parts") from None
    _check_text(b"".join((message_id, *command.texts)), limits)
    return command


_ENVELOPE_PARTS = 4

_Fields = Sequence[bytes]


def _inform(message_id: bytes, fields: _Fields) -> Command:
    """A role may be missing, for the specification counts five parts where it shows six."""
    role = fields[1] if len(fields) > 1 else Role.WORKER.value
    try:
        return Inform(message_id, fields[0], Role(role))
    except ValueError:
        raise PeerError(f"role {role[:20]!r}", "role") from None


def _schedule(kind: type[Schedule], message_id: bytes, fields: _Fields) -> Command:
    if len(fields) == 3:
        return kind(message_id, *fields)
    queue, headers, interval, body, cron = (fields[at] for at in range(5))
    return kind(message_id, queue, headers, body, interval, cron)


def _publish(message_id: bytes, fields: _Fields) -> Command:
    if len(fields) == 2:
        return Publish(message_id, *fields)
    return Publish(message_id, fields[0], fields[2], fields[1])


_READERS: Mapping[bytes, Callable[[bytes, _Fields], Command]] = {
    b"ACK": lambda message_id, fields: Ack(message_id, fields[0]),
    b"REPLY": lambda message_id, fields: Reply(message_id, fields[0], *fields[1:2]),
    b"HEARTBEAT": lambda message_id, fields: Heartbeat(message_id, *fields[:1]),
    b"DISCONNECT": lambda message_id, fields: Disconnect(message_id),
    b"KBYE": lambda message_id, fields: Goodbye(message_id),
    b"KBAI": lambda message_id, fields: SpecifiedGoodbye(message_id),
    b"REQUEST": lambda message_id, fields: Request(message_id, fields[0], fields[1], fields[2]),
    b"SCHEDULE": lambda message_id, fields: _schedule(Schedule, message_id, fields),
    b"UNSCHEDULE": lambda message_id, fields: _schedule(Unschedule, message_id, fields),
    b"PUBLISH": _publish,
    b"INFORM": _inform,
    b"READY": lambda message_id, fields: Ready(message_id),
    b"HELLO": lambda message_id, fields: Hello(message_id),
    b"STATUS": lambda message_id, fields: Status(message_id, *fields[:1]),
    b"ROUTER_SHOW_WORKERS": lambda message_id, fields: ShowWorkers(message_id),
    b"ROUTER_SHOW_SCHEDULERS": lambda message_id, fields: ShowSchedulers(message_id),
}


def _check_text(text: bytes, limits: Limits) -> None:
    if len(text) > limits.control_octets:
        raise PeerError(f"{len(text)} octets beside the body, at most {limits.control_octets}", "text")
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise PeerError(str(error), "text") from None
