"""What is a message of a queue, seen as a job? Pure: from what the bus tells of messages to what is printed of jobs.

A message that is no job, or whose properties make no sense, is shown as such: whoever looks for what is wrong with a
queue must not be stopped by it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from fmqbus.cli.rows import Row, utc
from fmqbus.errors import PeerError
from fmqbus.model import DEAD_LETTER_DETAIL, DEAD_LETTER_QUEUE, DEAD_LETTER_REASON
from fmqbus.protocols.emqp.headers import write_headers
from fmqbus.protocols.emqp.job_message import read_properties
from fmqbus.protocols.emqp.jobs import Job, parse_job

#: What the list tells of a job; `show` tells all.
LISTED = ("number", "state", "id", "job", "arguments", "attempts", "since", "reason")

#: States: a consumer has it; it waits; it waits for its time; it is a dead letter.
RUNNING, WAITING, DELAYED, FAILED = "running", "waiting", "delayed", "failed"

#: Of all arguments of a job, in a list.
_ARGUMENT_CHARACTERS = 100


def job_row(queue: str, message: Row, now: float) -> Row:
    """All that is known of a job, for programs. `now` and all times are POSIX seconds."""
    properties = message["properties"]
    origin = properties.get(DEAD_LETTER_QUEUE)
    return {
        "queue": queue,
        "number": message["number"],
        "state": _state(message, now),
        "problem": None,
        **_call(message),
        **_request(properties),
        # a dead letter is a new message, whose deliveries are not the job's
        "attempts": message["deliveries"] if origin is None else None,
        "since": message["held_since"],
        "not_before": message["not_before"],
        "expires_at": message["expires_at"],
        "priority": message["priority"],
        "octets": message["octets"],
        "reason": properties.get(DEAD_LETTER_REASON),
        "detail": properties.get(DEAD_LETTER_DETAIL),
        "from": origin,
    }


def listed(row: Row) -> Row:
    """A job in a list, for people."""
    reason = ": ".join(filter(None, (row["reason"], row["detail"])))
    return {
        **row,
        "id": row["id"] or "-",
        "job": row["job"] or f"({row['problem']})",
        "arguments": "-" if row["job"] is None else _cut(arguments_text(row["args"], row["kwargs"])),
        "attempts": "-" if row["attempts"] is None else row["attempts"],
        "since": utc(row["since"]),
        "reason": reason or "-",
    }


def told(row: Row) -> Row:
    """All of one job, for people; without what it has not."""
    values = {
        **row,
        **{name: json.dumps(row[name]) for name in ("args", "kwargs", "class_args", "class_kwargs") if row.get(name)},
        **{name: utc(row[name]) for name in ("since", "not_before", "expires_at") if row[name] is not None},
    }
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def arguments_text(args: list[Any], kwargs: Mapping[str, Any]) -> str:
    """As they would stand between the parentheses of a call, but in JSON."""
    return ", ".join([*map(json.dumps, args), *(f"{name}={json.dumps(value)}" for name, value in kwargs.items())])


def _state(message: Row, now: float) -> str:
    if message["held_since"] is not None:
        return RUNNING
    if DEAD_LETTER_QUEUE in message["properties"]:
        return FAILED
    return DELAYED if (message["not_before"] or 0.0) > now else WAITING


def _call(message: Row) -> Row:
    """What the body says."""
    body = message["text"].encode() if "text" in message else base64.b64decode(message["base64"])
    try:
        if len(body) < message["octets"]:
            raise PeerError("the body is too long to be shown", "body")
        job = parse_job(body)
    except PeerError as error:
        return {"job": None, "problem": str(error)}
    return {"job": job.name, **_arguments(job)}


def _arguments(job: Job) -> Row:
    return {
        "args": list(job.args),
        "kwargs": job.kwargs,
        "class_args": list(job.class_args),
        "class_kwargs": job.class_kwargs,
    }


def _request(properties: Mapping[str, str]) -> Row:
    """What is said beside the body."""
    try:
        said = read_properties(properties)
    except PeerError as error:
        return {"id": None, "headers": "", "client": None, "problem": str(error)}
    name, identity = said.client or ("", b"")
    return {
        "id": said.message_id.decode() or None,
        "headers": write_headers(said.headers).decode(),
        "client": f"{name} {identity.hex()}" if said.client else None,
        "queue_as_written": said.queue_as_written.decode() or None,
    }


def _cut(text: str) -> str:
    return text if len(text) <= _ARGUMENT_CHARACTERS else f"{text[:_ARGUMENT_CHARACTERS]}..."
