"""What is a client told? (MTL, Control Flow; Initializing a Data Flow; the two sections on error handling)

The text parts what is wrong in two. What is **ill-formed** has the wrong number of frames, or content that cannot be
read: it is dropped without a word, and raised as a `PeerError`. What is well-formed but **invalid** is answered, and
raised as a `Declined`, which knows by what. A client that is told nothing waits for good (reading 2), so wherever the
text leaves it open which of the two something is, it is answered if there is a way to.
"""

from __future__ import annotations

import enum

from fmqbus.errors import BusError, InvalidName, PeerError


class Status(enum.Enum):
    """All statuses that this side gives; clients in the field know hardly any other (reading 9)."""

    OK = 200
    READY = 201
    DATA_LEASE = 202
    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    CHALLENGED = 402
    #: On data flows only.
    FORBIDDEN = 403
    NOT_IMPLEMENTED = 501

    @property
    def text(self) -> str:
        """The member ``status`` of a reply's body, as the text spells it."""
        return _TEXTS[self]


_TEXTS = {
    Status.OK: "OK",
    Status.READY: "Ready",
    Status.DATA_LEASE: "Data Lease",
    Status.BAD_REQUEST: "Bad Request",
    Status.UNAUTHORIZED: "Unauthorized",
    Status.CHALLENGED: "Challenged",
    Status.FORBIDDEN: "Forbidden",
    Status.NOT_IMPLEMENTED: "Not implemented",
}

#: What a peer may say at all (MTL, Control Flow: three digits, 2xx to 5xx).
LEAST_CODE, MOST_CODE = 200, 599


class Declined(PeerError):
    """The peer asked in good form for what cannot be had: it is told so."""

    def __init__(self, status: Status, detail: str, reason: str) -> None:
        super().__init__(detail, reason)
        self.status = status


def status_of(error: BusError) -> Status | None:
    """By what an error is answered, on either flow; None for what is dropped. The text has no status for a bus that is
    full, or says no, or has made a mistake; 400 is the one that clients know (reading 9)."""
    if isinstance(error, Declined):
        return error.status
    # the bus does not like the name of a resource, which was well-formed
    if isinstance(error, PeerError) and not isinstance(error, InvalidName):
        return None
    return Status.BAD_REQUEST


def read_code(digits: bytes) -> int:
    """Three digits. Raises `PeerError` with reason ``code``."""
    if len(digits) == 3 and digits.isdigit() and LEAST_CODE <= int(digits) <= MOST_CODE:
        return int(digits)
    raise PeerError(f"code {digits[:10]!r}", "code")
