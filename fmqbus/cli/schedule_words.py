"""What do the commands for schedules take, and what do they print?"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4
from zoneinfo import ZoneInfo

import click

from fmqbus.cli.rows import Row
from fmqbus.protocols.emqp.jobs import Job, write_job
from fmqbus.schedules.table import Missed

F = TypeVar("F", bound=Callable[..., object])


def when_options(command: F) -> F:
    """Add the options that say when it runs, by the names that requests have for them."""
    for option in (
        click.option(
            "--missed",
            type=click.Choice([each.value for each in Missed]),
            help="What happens where runs were missed: nothing, one run, or all of them. Else as configured.",
        ),
        click.option("--runs", type=click.IntRange(min=1), help="It ends after so many runs; else it runs for ever."),
        click.option("--zone", help="The time zone of --cron, such as Europe/Stockholm. Else as configured."),
        click.option("--cron", metavar="EXPRESSION", help='Minute, hour, day, month, weekday: "0 3 * * *".'),
        click.option("--every", type=click.IntRange(1, 366 * 86_400), metavar="SECONDS", help="At equal intervals."),
    ):
        command = option(command)
    return command


def message_of(text: str) -> tuple[Mapping[str, str], str]:
    """A payload as a request has it, and a key for it that nothing else has."""
    octets = text.encode("utf-8", "surrogateescape")
    try:
        payload = {"text": octets.decode()}
    except UnicodeDecodeError:
        payload = {"base64": b64encode(octets).decode()}
    return payload, uuid4().hex


def read_job(name: str, args: str, kwargs: str) -> tuple[Mapping[str, str], str]:
    """The same for a job; its key is that of eMQP. Raises `click.BadParameter`."""
    path, colon, called = name.partition(":")
    owner, dot, method = called.rpartition(".")
    if not path or not called or not colon or (dot and not (owner and method)):
        raise click.BadParameter(f"{name!r} is neither MODULE:FUNCTION nor MODULE:CLASS.METHOD")
    job = Job(f"{path}:{owner}" if dot else path, method, _json(args, list), _json(kwargs, dict))
    return {"text": write_job(job).decode()}, job.key


def _json(text: str, kind: type[Any]) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{text!r} is no JSON: {error}") from None
    if not isinstance(value, kind):
        raise click.BadParameter(f"{text!r} is no JSON {'list' if kind is list else 'object'}")
    return value


def shown(row: Row) -> Row:
    """A schedule in a list."""
    is_cron = "cron" in row
    return {
        "key": row["key"],
        "where": row.get("queue") or row.get("topic"),
        "when": f"{row['cron']} {row['zone']}" if is_cron else f"every {row['every']:g} s",
        "next": "paused" if row["paused"] else _time(row["due"], row.get("zone")),
        "left": "-" if row["runs_left"] is None else row["runs_left"],
        "runs": row["runs"],
        "failed": sum(row["failed"].values()),
    }


def told(schedule: Row) -> Row:
    """All of one schedule, with times for people."""
    zone = schedule.get("zone")
    return {
        **schedule,
        "due": _time(schedule["due"], zone),
        "last_run": _time(schedule["last_run"], zone),
        "failed": json.dumps(schedule["failed"]),
        "properties": json.dumps(schedule["properties"]),
        "owner": " ".join(filter(None, schedule["owner"].values())),
    }


def _time(seconds: float | None, zone: str | None) -> str:
    if seconds is None:
        return "-"
    try:
        where = ZoneInfo(zone or "UTC")
    except LookupError:  # the bus knows it, this machine does not
        where = ZoneInfo("UTC")
    return datetime.fromtimestamp(seconds, where).isoformat(" ", "seconds")
