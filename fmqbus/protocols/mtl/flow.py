"""What may be said on a data flow, with the leases it has? (MTL, Initializing a Data Flow to Sending Content)

A flow has one lease for each direction at most (reading 28), and so four states. What each command comes to in each of
them is the table `VERDICTS`; what depends on names comes after it. A flow without a lease costs nothing: what it says
is answered and forgotten, so there is no `DataFlow` before the first one.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from fmqbus.errors import PeerError
from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reject,
    Response,
    Summon,
)
from fmqbus.protocols.mtl.leases import Grant, Kind
from fmqbus.protocols.mtl.statuses import Status

Owner = TypeVar("Owner", bound=Hashable)


class FlowState(enum.Enum):
    """Which leases a flow has."""

    UNLEASED = "unleased"
    READING = "reading"
    WRITING = "writing"
    BOTH = "both"


class Verdict(enum.Enum):
    """What is done about a command, as far as the state tells."""

    #: It means something here.
    DO = "do"
    #: Nothing: there is no answer to it, or none is due.
    IGNORE = "ignore"
    #: Response 400, and 403.
    BAD_REQUEST = "bad request"
    FORBIDDEN = "forbidden"


_DO, _IGNORE, _BAD, _FORBIDDEN = Verdict

#: A Response answers nothing, for a broker asks nothing; Ping means the same everywhere (readings 29, 40, 41 and 50).
VERDICTS: Mapping[FlowState, Mapping[type[Command], Verdict]] = {
    FlowState.UNLEASED: {
        Lease: _DO,
        Response: _IGNORE,
        Summon: _FORBIDDEN,
        Dismiss: _FORBIDDEN,
        Content: _IGNORE,
        Confirm: _IGNORE,
        Reject: _IGNORE,
        Ping: _DO,
        Pong: _DO,
    },
    FlowState.READING: {
        Lease: _DO,
        Response: _IGNORE,
        Summon: _DO,
        Dismiss: _DO,
        Content: _IGNORE,
        Confirm: _DO,
        Reject: _DO,
        Ping: _DO,
        Pong: _DO,
    },
    FlowState.WRITING: {
        Lease: _DO,
        Response: _IGNORE,
        Summon: _BAD,
        Dismiss: _BAD,
        Content: _DO,
        Confirm: _IGNORE,
        Reject: _IGNORE,
        Ping: _DO,
        Pong: _DO,
    },
    FlowState.BOTH: {
        Lease: _DO,
        Response: _IGNORE,
        Summon: _DO,
        Dismiss: _DO,
        Content: _DO,
        Confirm: _DO,
        Reject: _DO,
        Ping: _DO,
        Pong: _DO,
    },
}

#: Where a lease leads; where it does not, the flow has one of its kind already (reading 28).
LEASED: Mapping[tuple[FlowState, Kind], FlowState] = {
    (FlowState.UNLEASED, Kind.READER): FlowState.READING,
    (FlowState.UNLEASED, Kind.WRITER): FlowState.WRITING,
    (FlowState.READING, Kind.WRITER): FlowState.BOTH,
    (FlowState.WRITING, Kind.READER): FlowState.BOTH,
}

_STATUSES = {Verdict.BAD_REQUEST: Status.BAD_REQUEST, Verdict.FORBIDDEN: Status.FORBIDDEN}


class DataFlow(Generic[Owner]):
    """One flow: its leases, and what is summoned on it."""

    __slots__ = ("_summoned", "reader", "state", "writer")

    def __init__(self) -> None:
        self.state = FlowState.UNLEASED
        self.reader: Grant[Owner] | None = None
        self.writer: Grant[Owner] | None = None
        #: In the order in which they were summoned.
        self._summoned: dict[bytes, None] = {}

    @property
    def summoned(self) -> tuple[bytes, ...]:
        """The resources whose contents are to come."""
        return tuple(self._summoned)

    def is_summoned(self, resource: bytes) -> bool:
        """Whether its contents are to come."""
        return resource in self._summoned

    def verdict(self, command: Command) -> Verdict:
        """What is done about a command, as far as the state tells."""
        return VERDICTS[self.state][type(command)]

    def can_have(self, grant: Grant[Owner] | None) -> bool:
        """Whether a lease may be used here; None is one that there is not. A lease that is refused stays unused."""
        return grant is not None and (self.state, grant.kind) in LEASED

    def lease(self, grant: Grant[Owner]) -> None:
        """It has been used here, as it could be."""
        self.state = LEASED[self.state, grant.kind]
        if grant.kind is Kind.READER:
            self.reader = grant
        else:
            self.writer = grant

    def summon(self, resource: bytes) -> Status:
        """Its contents are to come from now on, if that is 200. If the bus says no after all, it is to be dismissed.
        There may be as many as the bus allows one client subscriptions or consumers."""
        status = self._status(Summon, resource)
        if status is Status.OK:
            if resource in self._summoned:
                return Status.BAD_REQUEST
            self._summoned[resource] = None
        return status

    def dismiss(self, resource: bytes) -> Status:
        """No contents come any more, if that is 200, as the text means by "Consume" (reading 42). Those that were sent
        may still be confirmed (reading 43)."""
        status = self._status(Dismiss, resource)
        if status is Status.OK:
            if resource not in self._summoned:
                return Status.BAD_REQUEST
            del self._summoned[resource]
        return status

    def resource_of(self, content: Content) -> bytes:
        """Where a content goes that came on a flow which may write. Raises `PeerError` with reason ``no-resource`` or
        ``resource`` if it is invalid: it is rejected where contents are confirmed (readings 46 and 47)."""
        writer = self.writer
        assert writer is not None, "a content that nobody may write"
        if content.resource:
            if not writer.allows(content.resource):
                raise PeerError("a resource that the lease is not for", "resource")
            return content.resource
        if len(writer.resources) != 1:
            raise PeerError("no resource is named, and there may be several", "no-resource")
        (only,) = writer.resources
        return only

    def _status(self, kind: type[Command], resource: bytes) -> Status:
        verdict = VERDICTS[self.state][kind]
        if verdict is not Verdict.DO:
            return _STATUSES[verdict]
        assert self.reader is not None, "who may summon has a reader's lease"
        return Status.OK if resource and self.reader.allows(resource) else Status.BAD_REQUEST
