"""What does a SCHEDULE ask for, and what does a scheduler get of it? (eMQP, Scheduler)"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from fmqbus.errors import PeerError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import Schedule
from fmqbus.protocols.emqp.jobs import parse_job
from fmqbus.protocols.emqp.schedulers import Plan, forwarded, parse_plan
from fmqbus.schedules.timing import Cron, Every
from tests.protocols.emqp.written import VECTORS


def schedule(name: str = "schedule", **changes: Any) -> Schedule:
    command = decode(VECTORS[name], DEFAULT_LIMITS)
    assert isinstance(command, Schedule)
    return msgspec.structs.replace(command, **changes)


def plan(command: Schedule) -> Plan:
    return parse_plan(command, "Europe/Stockholm")


def test_an_interval_is_read_from_its_part() -> None:
    """EventMQ's dialect."""
    read = plan(schedule())
    assert read.timing == Every(60)
    assert (read.queue, read.job.name) == (b"default", "my.jobs:mark")
    assert read.headers.guarantee


def test_a_cron_expression_is_of_the_given_zone() -> None:
    """The message has no place for one. (reading 50)"""
    read = plan(schedule("schedule_cron"))
    assert read.timing == Cron("0,30 * * * *", "Europe/Stockholm")
    assert read.headers.nohaste


def test_the_specifications_dialect_has_it_in_a_header() -> None:
    """An extension. (reading 16)"""
    assert plan(schedule("schedule_specified")).timing == Every(60)
    cron = schedule("schedule_specified", headers=b"guarantee,cron:0,30 * * * *")
    assert plan(cron).timing == Cron("0,30 * * * *", "Europe/Stockholm")


@pytest.mark.parametrize(
    "changes",
    [
        {"interval": b"0"},
        {"interval": b"-5"},
        {"interval": b"1000000000000"},
        {"interval": b"9" * 10_000},
        {"interval": b"1.5"},
        {"interval": b""},
        {"interval": "²".encode()},
        {"interval": b"-1"},
        {"interval": b"60", "cron": b"* * * * *"},
        {"interval": b"-1", "cron": b"* * * *"},
        {"interval": b"-1", "cron": b"61 * * * *"},
        {"interval": b"-1", "cron": b"0 0 31 2 *"},
        {"interval": b"-1", "cron": b"@daily"},
        {"interval": b"-1", "cron": b"* * * * *" * 100},
        {"body": b"{}"},
        {"headers": b"run_count:0"},
        {"queue": b"*"},
        {"interval": None, "cron": None},
        {"interval": None, "cron": None, "headers": b"interval:5,cron:* * * * *"},
    ],
)
def test_what_cannot_be_meant_is_refused(changes: dict[str, Any]) -> None:
    """Bad input: intervals 0, -5 and 10^12, and broken cron. (reading 47)"""
    with pytest.raises(PeerError):
        plan(schedule(**changes))


def test_nine_whole_parts_go_to_a_scheduler() -> None:
    """All six members of the body, an interval, a cron expression that is empty. (reading 47)"""
    short = schedule(body=b'["run", {"path": "a", "callable": "f"}]')
    parts = encode(forwarded(short, plan(short)))
    assert len(parts) == 9
    assert parts[:7] == [*VECTORS["schedule"][:5], b"guarantee", b"60"]
    assert parts[8] == b""
    assert len(json.loads(parts[7])[1]) == 6
    assert parse_job(parts[7]) == plan(short).job


def test_cron_goes_with_minus_one() -> None:
    """As EventMQ writes it. (reading 47)"""
    command = schedule("schedule_cron")
    assert encode(forwarded(command, plan(command)))[6:] == [b"-1", command.body, b"0,30 * * * *"]


def test_the_specifications_dialect_is_never_handed_on_raw() -> None:
    """A real scheduler would end itself over it. (eMQP, Headers; reading 16)"""
    command = schedule("schedule_specified")
    parts = encode(forwarded(command, plan(command)))
    assert parts[5:7] == [b"", b"60"]
    assert len(parts) == 9


def test_run_count_with_cron_needs_nohaste() -> None:
    """Otherwise the real one ends itself. (reading 47)"""
    command = schedule("schedule_cron", headers=b"run_count:3")
    with pytest.raises(PeerError):
        forwarded(command, plan(command))
    command = schedule("schedule_cron", headers=b"run_count:3,nohaste")
    assert forwarded(command, plan(command)).headers == b"nohaste,run_count:3"
