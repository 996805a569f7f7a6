"""What can be said in MTL? (MTL, Control Flow; Data Flow)

Three kinds of values: requests of clients and replies of the broker, which are JSON, and commands on data flows, which
are binary and go either way. Names of resources are octets throughout, as they travel on data flows.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from fmqbus.protocols.mtl.statuses import Status

# Control flow: requests


class Request(msgspec.Struct, frozen=True, gc=False):
    """What a client asks for. Members of the JSON that nobody knows are ignored: later versions may have more."""

    #: As the text writes it; peers may write it in any case (reading 7).
    command: ClassVar[str]


class Open(Request, frozen=True, gc=False):
    """Connection.Open: begin, or begin anew. Protocol and version have been looked at when this has been read."""

    command = "Connection.Open"

    #: Empty where the client names none.
    virtual_host: str = ""


class Authorize(Request, frozen=True, gc=False):
    """Connection.Authorize: one step of a SASL exchange."""

    command = "Connection.Authorize"

    mechanism: str
    #: Decoded; empty to have the other side begin (reading 12).
    response: bytes = b""


class Profile(Request, frozen=True, gc=False):
    """Connection.Profile: choose what resources are."""

    command = "Connection.Profile"

    #: In lower case, since case does not count.
    profile: str


class Flow(Request, frozen=True, gc=False):
    """A lease is wanted."""

    #: Each once, in the client's order; empty for any and all (reading 19).
    resources: tuple[bytes, ...] = ()
    #: Contents are confirmed: ``full`` as opposed to ``none``.
    is_confirmed: bool = False


class Reader(Flow, frozen=True, gc=False):
    """Connection.Reader: contents are to come."""

    command = "Connection.Reader"

    #: So many contents without a confirmation are what the reader will take, at most; 0 leaves it to the broker. The
    #: text has no such member, so brokers that do not know it ignore it.
    window: int = 0


class Writer(Flow, frozen=True, gc=False):
    """Connection.Writer: contents are to go."""

    command = "Connection.Writer"


# Control flow: replies


class Reply(msgspec.Struct, frozen=True, gc=False):
    """What the broker answers."""


class Done(Reply, frozen=True, gc=False):
    """200 OK."""


class Ready(Reply, frozen=True, gc=False):
    """201 Ready: the client may go on, with one of these profiles."""

    profiles: tuple[str, ...]


class DataLease(Reply, frozen=True, gc=False):
    """202 Data Lease: what a data flow at this port begins with."""

    port: int
    lease: bytes


class Unauthorized(Reply, frozen=True, gc=False):
    """401 Unauthorized: log in, by one of these mechanisms."""

    mechanisms: tuple[str, ...]


class Challenged(Reply, frozen=True, gc=False):
    """402 Challenged: the next step of a SASL exchange."""

    mechanism: str
    challenge: bytes


class Failed(Reply, frozen=True, gc=False):
    """Any other code, with the text that comes with it."""

    #: Three digits.
    code: int
    text: str


def declined(status: Status) -> Failed:
    """A reply that says no more than its status."""
    return Failed(status.value, status.text)


# Data flow


class Command(msgspec.Struct, frozen=True, gc=False):
    """What is said on a data flow."""

    type: ClassVar[int]


class Lease(Command, frozen=True, gc=False):
    """Lease: a flow begins, or gets its second direction (reading 28)."""

    type = 0x01

    #: The sender's own, echoed by the Response (reading 39).
    sequence: int
    lease: bytes


class Response(Command, frozen=True, gc=False):
    """Response: what became of the command with this sequence."""

    type = 0x02

    sequence: int
    #: Three digits.
    code: int


class Summon(Command, frozen=True, gc=False):
    """Summon: let the contents of a resource come."""

    type = 0x03

    sequence: int
    resource: bytes


class Dismiss(Command, frozen=True, gc=False):
    """Dismiss: no more of them."""

    type = 0x04

    sequence: int
    resource: bytes


class Content(Command, frozen=True, gc=False):
    """Content, in either direction."""

    type = 0x05

    #: Counted by the sender from 1 by 1, for this direction of this flow (reading 44).
    sequence: int
    #: May be empty where there is only one (reading 46).
    resource: bytes
    #: The entries of a field table as they were written, without their length, and not looked into (reading 32).
    properties: bytes = b""
    body: bytes = b""


class Confirm(Command, frozen=True, gc=False):
    """Confirm: a content is safe; with `multiple`, all up to it."""

    type = 0x06

    sequence: int
    multiple: bool = False


class Reject(Command, frozen=True, gc=False):
    """Reject: it is not wanted; with `recycle`, send it again, to whomever the profile likes."""

    type = 0x07

    sequence: int
    multiple: bool = False
    recycle: bool = False


class Ping(Command, frozen=True, gc=False):
    """Ping: are you there?"""

    type = 0x08


class Pong(Command, frozen=True, gc=False):
    """Pong: yes. It carries nothing (reading 53)."""

    type = 0x09
