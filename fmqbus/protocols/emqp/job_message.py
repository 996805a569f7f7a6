"""A job as a message of a bus queue: what is said of it beside its body, in properties.

The body stays as it came. All properties may be missing: what another protocol's producer puts into a queue is a job
too, if its body is one.
"""

from __future__ import annotations

import attrs

from fmqbus.errors import PeerError
from fmqbus.model import Message
from fmqbus.protocols.emqp.commands import Request
from fmqbus.protocols.emqp.headers import NO_HEADERS, Headers, parse_headers, write_headers
from fmqbus.protocols.emqp.presence import Peer

#: The id under which the client knows its job.
EMQP_ID = "emqp:id"
#: The headers of its REQUEST, as CSV.
EMQP_HEADERS = "emqp:headers"
#: The queue's name as the client wrote it, where the bus has another for it.
EMQP_QUEUE = "emqp:queue"
#: Where the result goes: the name of a socket, a space, and the identity there in hexadecimal.
EMQP_CLIENT = "emqp:client"


@attrs.frozen(slots=True)
class JobMessage:
    """What a message says of a job beside its body."""

    message_id: bytes = b""
    headers: Headers = NO_HEADERS
    #: Empty where it is the queue's own.
    queue_as_written: bytes = b""
    #: Who waits for the result; None if nobody does.
    client: Peer | None = None


def job_message(queue: bytes, request: Request, headers: Headers, client: Peer | None) -> Message:
    """A REQUEST as a message of this queue; its result goes to `client`. The headers are those of the REQUEST."""
    properties = {}
    if request.message_id:
        properties[EMQP_ID] = request.message_id.decode()
    if written := write_headers(headers):
        properties[EMQP_HEADERS] = written.decode()
    if request.queue != queue:
        properties[EMQP_QUEUE] = request.queue.decode()
    if client is not None:
        name, identity = client
        properties[EMQP_CLIENT] = f"{name} {identity.hex()}"
    return Message(queue, request.body, properties=properties)


def read_job_message(message: Message) -> JobMessage:
    """Raises `PeerError` for properties that make no sense: anybody may have put the message into its queue."""
    said = message.properties
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
