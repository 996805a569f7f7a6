"""What does a REPLY say of a job's end, and a PROGRESS of how far it is?

``{"value": ...}`` in JSON. EventMQ puts the text of an exception there as well, so nobody can tell it from a result;
only that a job took too long shows. Ours add ``"error"`` with the name of the exception's class, which EventMQ's
clients do not look at.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from fmqbus.errors import PeerError
from fmqbus.protocols.emqp.jobs import parse_json

#: What EventMQ's workers answer for a job that took too long.
TIMEOUT = "TimeoutError"
#: The job was not brought to an end, through no fault of its own: its worker has gone, or says that it goes.
WORKER_LOST = "WorkerLost"

#: Notes are for people.
MOST_NOTE_CHARACTERS = 4_000


@attrs.frozen(slots=True)
class Result:
    """The end of a job."""

    #: What it returned; of one that failed, why.
    value: Any
    #: The class of the exception if it is known to have failed; empty otherwise.
    error: str = ""

    @property
    def is_timeout(self) -> bool:
        """Whether it took too long."""
        return TIMEOUT in (self.error, self.value)


#: A job that has nothing to say. (eMQP, Headers, reply-requested)
DONE = Result(True)


def parse_result(body: bytes) -> Result:
    """Raises `PeerError` with reason ``body`` for what is no such JSON."""
    match parse_json(body):
        case {"value": value, "error": str(error)}:
            return Result(value, error)
        case {"value": value}:
            return Result(value)
    raise PeerError("the body is no result", "body")


def write_result(result: Result) -> bytes:
    """Raises `TypeError` or `ValueError` for a value that is no JSON."""
    return json.dumps({"value": result.value} | ({"error": result.error} if result.error else {})).encode()


def write_returned(value: bytes) -> bytes:
    """What a job has returned, which is JSON already."""
    return b'{"value": %s}' % value


@attrs.frozen(slots=True)
class HowFar:
    """What a job has told while it runs."""

    #: 0 to 1.
    fraction: float
    note: str = ""


def parse_how_far(body: bytes) -> HowFar:
    """Raises `PeerError` with reason ``body`` for what is no such JSON; a longer note is cut."""
    match parse_json(body):
        case {"fraction": int() | float() as fraction, **more} if 0 <= fraction <= 1:
            note = more.get("note", "")
            return HowFar(float(fraction), note[:MOST_NOTE_CHARACTERS] if isinstance(note, str) else "")
    raise PeerError("the body tells no progress", "body")


def write_how_far(how_far: HowFar) -> bytes:
    """``{"fraction": ..., "note": ...}`` in JSON."""
    return json.dumps({"fraction": how_far.fraction, "note": how_far.note}).encode()
