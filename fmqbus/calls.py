"""What is a call on the bus? The values of it that cross layers, free of I/O and of any protocol.

A call is a request to a method, and it has exactly one end: the reply of the one server that got it, or a failure that
says why there is none. Servers offer methods by a `Service`; which of several gets a call is the bus's choice.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from fmqbus.errors import CallFailed
from fmqbus.model import NO_PROPERTIES, Principal

#: Values of `CallFailed.reason`: the server has said no,
FAILED = CallFailed.reason
#: nobody serves the method, or nobody does any more,
UNSERVED = "unserved"
#: the server went away before it answered,
SERVER_LOST = "server-lost"
#: nobody answered in time,
EXPIRED = "expired"
#: the caller no longer wants an answer, and is not told this,
ABANDONED = "abandoned"
#: there was a reply, but no room for it on its way,
NO_ROOM = "no-room"
#: the caller has lost its right before anybody got the call,
REFUSED = "refused"
#: the bus ends.
ENDING = "ending"

#: What these are as the codes that protocols tell: a limit or a right, nobody who would know the method, nobody there.
#: A server's own code is told as it is.
_CODES: Mapping[str, int] = {
    NO_ROOM: 1,
    REFUSED: 1,
    UNSERVED: 7,
    SERVER_LOST: 8,
    EXPIRED: 8,
    ABANDONED: 8,
    ENDING: 8,
}

#: How a call ends that has not failed; beside the above, a key of `MethodStatus.ended`.
REPLIED = "replied"


@attrs.frozen(slots=True)
class FailedAttachment:
    """Stands in the place of an attachment that its sender could not provide."""

    reason: str = ""


class Parcel(msgspec.Struct, frozen=True, gc=False):
    """What a call brings to its server, or a reply to its caller."""

    payload: bytes
    #: What the protocol of origin said beside the payload, for protocols that can carry it.
    properties: Mapping[str, str] = NO_PROPERTIES
    #: In their order, for protocols that can carry them.
    attachments: tuple[bytes | FailedAttachment, ...] = ()

    @property
    def octets(self) -> int:
        """What it counts against the bounds of the bus."""
        octets = len(self.payload)
        if self.properties:
            octets += sum(len(key) + len(value) for key, value in self.properties.items())
        if self.attachments:
            octets += sum(len(each if isinstance(each, bytes) else each.reason) for each in self.attachments)
        return octets


@attrs.define(slots=True, eq=False)
class Service:
    """One peer's offer to answer calls of one method. Compared by identity; only the router changes it."""

    method: bytes
    #: Calls it may have in hand at a time.
    window: int
    #: Its share among servers with room: one of weight 2 gets two calls for each one of weight 1.
    weight: int = 1
    #: What the serving protocol wants back with each call; opaque here.
    tag: Any = None
    #: Calls it was given and has not answered.
    in_hand: int = 0


@attrs.define(slots=True, eq=False)
class Call:
    """A call under way. Compared by identity; only the router changes it."""

    #: Unique within the bus and rising.
    number: int
    method: bytes
    parcel: Parcel
    #: Who asks.
    caller: Principal
    #: When it fails if it has not ended before, by `IRouter.clock`.
    deadline: float
    #: What the calling protocol wants back with the answer; opaque here.
    tag: Any = None
    #: Who has it in hand; None while it waits for a server with room.
    service: Service | None = None

    @property
    def size(self) -> int:
        """Octets, for the accounting of outboxes."""
        return self.parcel.octets


class Answer(msgspec.Struct, frozen=True, gc=False):
    """The end of a call."""

    call: Call
    result: Parcel | CallFailed

    @property
    def size(self) -> int:
        """Octets, for the accounting of outboxes."""
        result = self.result
        return result.octets if isinstance(result, Parcel) else len(str(result))


class Choice(enum.Enum):
    """Which of the servers with room gets a call."""

    #: One after the other, as their weights say.
    ROUND_ROBIN = "round-robin"
    #: Who has the fewest calls in hand, for its weight.
    LEAST_BUSY = "least-busy"
    #: Calls with the same value of a property go to the same server, as long as he is there and has room; all others
    #: as by round robin.
    HASH = "hash"


@attrs.frozen(slots=True, kw_only=True)
class MethodSettings:
    """How calls of the methods under one pattern are treated."""

    choice: Choice = Choice.ROUND_ROBIN
    #: The property that `Choice.HASH` goes by.
    key: str = "key"
    #: Seconds until a call fails, where its caller says nothing else.
    deadline: float = 30.0
    #: Calls that wait because no server has room; further ones are refused.
    max_waiting: int = 1_000


DEFAULT_METHOD_SETTINGS = MethodSettings()


@attrs.frozen(slots=True)
class MethodStatus:
    """A method that somebody serves, at one moment, for people."""

    name: bytes
    servers: int
    #: Calls that no server has yet, and those that one has.
    waiting: int
    in_hand: int
    #: Since the first of its servers came: how many calls there were, and how those that are over have ended:
    #: `REPLIED`, or the reason of a `CallFailed`. All that was ever `called` is waiting, in hand or ended.
    called: int
    ended: Mapping[str, int]
    #: Never taken, because all servers were busy and too many calls waited.
    refused: int


def code_of(failure: CallFailed) -> int:
    """The code under which a failure is told to its caller, where the protocol has codes."""
    return _CODES.get(failure.reason, failure.code)
