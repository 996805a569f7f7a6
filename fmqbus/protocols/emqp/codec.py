"""eMQP messages: parts to commands and back. (eMQP, Global Frames)

A message is an empty part, the version, a command's word, a message id, and the command's own fields. The codec only
tells fields apart, of either dialect.

Text is checked to be UTF-8, since the programs in the field do not survive any other. Bodies are not: who hands one on
as text has to look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fmqbus.errors import PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.commands import (
    OURS,
    Ack,
    Command,
    Disconnect,
    Goodbye,
    Heartbeat,
    Hello,
    Inform,
    Progress,
    Publish,
    Ready,
    Reply,
    Request,
    Role,
    Schedule,
    ShowSchedulers,
    ShowWorkers,
    SpecifiedGoodbye,
    Status,
    Unschedule,
)

VERSION = b"eMQP/1.0"


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


def requests_of(messages: Sequence[Sequence[bytes]]) -> Sequence[bytes]:
    """The ids of the REQUESTs among messages that `encode` has made."""
    return [message_id for _, _, word, message_id, *_ in messages if word == Request.word]


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
    b"ACK": lambda message_id, fields: Ack(message_id, fields[0], fields[1:2] == [OURS]),
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
    b"READY": lambda message_id, fields: Ready(message_id, fields[:1] == [OURS]),
    b"PROGRESS": lambda message_id, fields: Progress(message_id, fields[0], fields[1]),
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
