"""What does the body of a REQUEST or a SCHEDULE ask for?

``["run", {"callable": ..., "path": ..., "args": ..., "kwargs": ..., "class_args": ..., "class_kwargs": ...}]`` in JSON,
as EventMQ writes it; the specification calls it a message and says no more. Names are text here: nothing is looked up,
let alone imported. JSON is read by Python's own reader since that is what the programs in the field read it with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from fmqbus.errors import PeerError
from fmqbus.job_functions import Name

#: What `json.loads` comes to for text.
_read_json = json.JSONDecoder().decode


@attrs.frozen(slots=True)
class Job:
    """A call of a function, or of a method of a new object."""

    #: A module, or ``module:Class``.
    path: str
    callable: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = attrs.field(factory=dict)
    class_args: Sequence[Any] = ()
    class_kwargs: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def name(self) -> str:
        """For people: ``module:function`` or ``module:Class.method``."""
        return str(Name(self.path, self.callable))

    @property
    def key(self) -> str:
        """The same for all schedules of one call, whatever else they say: what UNSCHEDULE goes by (SHA-1 of the six
        sorted members, hexadecimal)."""
        members = json.dumps(self._members(), sort_keys=True).encode()
        return hashlib.sha1(members, usedforsecurity=False).hexdigest()

    def _members(self) -> dict[str, Any]:
        return {
            "callable": self.callable,
            "path": self.path,
            "args": list(self.args),
            "kwargs": dict(self.kwargs),
            "class_args": list(self.class_args),
            "class_kwargs": dict(self.class_kwargs),
        }


def parse_job(body: bytes) -> Job:
    """Raises `PeerError` with reason ``body`` for what is no such JSON."""
    match parse_json(body):
        case [_, {"path": str(path), "callable": str(called)} as members] if path and called:
            return Job(
                path,
                called,
                _list(members, "args"),
                _object(members, "kwargs"),
                _list(members, "class_args"),
                _object(members, "class_kwargs"),
            )
    raise PeerError("the body is no job", "body")


def write_job(job: Job) -> bytes:
    """With all six members: EventMQ's scheduler does not survive a missing one. The text is ASCII."""
    return json.dumps(["run", job._members()]).encode()


def parse_json(body: bytes) -> Any:
    """Raises `PeerError` with reason ``body`` for what is no JSON, or not in UTF-8."""
    try:
        return _read_json(body.decode())
    except (ValueError, RecursionError) as error:
        raise PeerError(f"the body is no JSON: {error}", "body") from None


def _list(members: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = members.get(name)
    if value is not None and not isinstance(value, list):
        raise PeerError(f"{name} is no list", "body")
    return value or ()


def _object(members: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = members.get(name)
    if value is not None and not isinstance(value, dict):
        raise PeerError(f"{name} is no object", "body")
    return value or {}
