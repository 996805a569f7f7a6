"""A job as a message of a bus queue: what is said of it beside its body, in properties.

The body stays as it came. All properties may be missing: what another protocol's producer puts into a queue is a job
too, if its body is one.

What was made here has been looked at, and is not looked at again when it is given out: its class says so, which nobody
can say from outside. What comes back from a store is a plain message.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fmqbus.errors import PeerError
from fmqbus.model import Message
from fmqbus.protocols.emqp.commands import Request
from fmqbus.protocols.emqp.headers import NO_HEADERS, Headers, parse_headers, write_headers
from fmqbus.protocols.emqp.jobs import parse_job
from fmqbus.protocols.emqp.presence import Peer

#: The id under which the client knows its job.
EMQP_ID = "emqp:id"
#: The headers of its REQUEST, as CSV.
EMQP_HEADERS = "emqp:headers"
#: The queue's name as the client wrote it, where the bus has another for it.
EMQP_QUEUE = "emqp:queue"
#: Where the result goes: the name of a socket, a space, and the identity there in hexadecimal.
EMQP_CLIENT = "emqp:client"


class JobMessage(msgspec.Struct, frozen=True, gc=False):
    """What a message says of a job beside its body. As light as `Message`: each job in a queue may have one."""

    message_id: bytes = b""
    headers: Headers = NO_HEADERS
    #: Empty where it is the queue's own.
    queue_as_written: bytes = b""
    #: Who waits for the result; None if nobody does.
    client: Peer | None = None


class _SoundJob(Message, frozen=True, gc=False):
    """A message that was made by `job_message`."""

    said: JobMessage = JobMessage()


def job_message(queue: bytes, request: Request, headers: Headers, client: Peer | None) -> Message:
    """A REQUEST, whose body is known to be a job, as a message of this queue; its result goes to `client`. The headers
    are those of the REQUEST."""
    properties = {}
    if request.message_id:
        properties[EMQP_ID] = request.message_id.decode()
    if written := write_headers(headers):
        properties[EMQP_HEADERS] = written.decode()
    as_written = b"" if request.queue == queue else request.queue
    if as_written:
        properties[EMQP_QUEUE] = as_written.decode()
    if client is not None:
        name, identity = client
        properties[EMQP_CLIENT] = f"{name} {identity.hex()}"
    said = JobMessage(request.message_id, headers, as_written, client)
    return _SoundJob(queue, request.body, properties=properties, said=said)


def read_job_message(message: Message) -> JobMessage:
    """Raises `PeerError` for a message that is no job, or whose properties make no sense: anybody may have put it into
    its queue."""
    if isinstance(message, _SoundJob):
        return message.said
    parse_job(message.payload)
    return read_properties(message.properties)


def read_properties(said: Mapping[str, str]) -> JobMessage:
    """What the properties of a message say, whatever its body is. Raises `PeerError` for what makes no sense."""
    if not said:
        return JobMessage()
    return JobMessage(
        said.get(EMQP_ID, "").encode("utf-8", "replace"),
        parse_headers(said.get(EMQP_HEADERS, "").encode("utf-8", "replace")),
        said.get(EMQP_QUEUE, "").encode("utf-8", "replace"),
        _client(said[EMQP_CLIENT]) if EMQP_CLIENT in said else None,
    )


def _client(text: str) -> Peer:
    name, _, identity = text.partition(" ")
    try:
        return name, bytes.fromhex(identity)
    except ValueError:
        raise PeerError(f"{text[:40]!r} is no client", "client") from None
