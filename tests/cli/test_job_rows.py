"""What is shown of a message that is a job, or should be?"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fmqbus.cli.job_rows import LISTED, job_row, listed, told
from fmqbus.protocols.emqp.commands import Request
from fmqbus.protocols.emqp.headers import parse_headers
from fmqbus.protocols.emqp.job_message import job_message
from fmqbus.protocols.emqp.jobs import Job, write_job

JOB = Job("shop.jobs:Mail", "send", ["all", 2], {"at": None}, ["smtp"], {"secure": True})
LETTER = {"dead-letter-reason": "rejected", "dead-letter-queue": "mails", "dead-letter-detail": "job-failed: KeyError"}


def message(**fields: Any) -> dict[str, Any]:
    """A message, as the bus tells of it."""
    body = fields.get("text", write_job(JOB).decode())
    return {
        "number": 7,
        "octets": len(body),
        "text": body,
        "properties": {},
        "priority": 0,
        "expires_at": None,
        "not_before": None,
        "deliveries": 2,
        "held_since": None,
        **fields,
    }


def test_all_that_a_request_said_is_there() -> None:
    """As the broker keeps it."""
    request = Request(b"id-1", b"Mails", b"reply-requested,retry-count:3", b"")
    kept = job_message(b"mails", request, parse_headers(request.headers), ("frontend", b"\xff\x01"))
    row = job_row("mails", message(properties=dict(kept.properties)), 0.0)
    assert row == {
        "queue": "mails",
        "number": 7,
        "state": "waiting",
        "problem": None,
        "job": "shop.jobs:Mail.send",
        "args": ["all", 2],
        "kwargs": {"at": None},
        "class_args": ["smtp"],
        "class_kwargs": {"secure": True},
        "id": "id-1",
        "headers": "reply-requested,retry-count:3",
        "client": "frontend ff01",
        "queue_as_written": "Mails",
        "attempts": 2,
        "since": None,
        "not_before": None,
        "expires_at": None,
        "priority": 0,
        "octets": len(write_job(JOB)),
        "reason": None,
        "detail": None,
        "from": None,
    }


@pytest.mark.parametrize(
    ("fields", "state", "attempts"),
    [
        ({}, "waiting", 2),
        ({"not_before": 99.0}, "waiting", 2),
        ({"not_before": 101.0}, "delayed", 2),
        ({"held_since": 0.0}, "running", 2),
        ({"properties": LETTER}, "failed", None),
        ({"properties": LETTER, "held_since": 5.0}, "running", None),
    ],
)
def test_a_job_is_in_one_state(fields: dict[str, Any], state: str, attempts: int | None) -> None:
    """How often a dead letter was tried before it died is not known: it is a new message."""
    row = job_row("mails", message(**fields), 100.0)
    assert (row["state"], row["attempts"]) == (state, attempts)


def test_a_list_says_it_in_few_words() -> None:
    """Arguments as in a call, a time that people can read, and why it has failed."""
    row = listed(job_row("dead", message(properties={**LETTER, "emqp:id": "x"}, held_since=86_400.0), 0.0))
    assert [row[column] for column in LISTED] == [
        7,
        "running",
        "x",
        "shop.jobs:Mail.send",
        '"all", 2, at=null',
        "-",
        "1970-01-02 00:00:00+00:00",
        "rejected: job-failed: KeyError",
    ]


def test_long_arguments_are_cut_in_a_list_only() -> None:
    """A line is for looking over."""
    body = write_job(Job("m", "f", ["x" * 1000])).decode()
    row = job_row("q", message(text=body), 0.0)
    assert len(listed(row)["arguments"]) == 103
    assert row["args"] == ["x" * 1000]


def test_the_details_leave_out_what_is_not_there() -> None:
    """And have everything else, as text."""
    details = told(job_row("q", message(expires_at=1e300), 0.0))
    assert details["class_kwargs"] == '{"secure": true}'
    assert details["expires_at"] == "1e+300"
    assert {"client", "reason", "since", "id", "problem"} & details.keys() == set()


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"text": "three apples"}, "the body is no JSON"),
        ({"text": '["run", {}]'}, "the body is no job"),
        ({"text": '["run', "octets": 9999}, "too long to be shown"),
        ({"text": ""}, "the body is no JSON"),
    ],
)
def test_a_message_that_is_no_job_is_shown_as_such(fields: dict[str, Any], problem: str) -> None:
    """It may be what somebody looks for."""
    row = job_row("q", message(**fields), 0.0)
    assert row["job"] is None
    assert problem in row["problem"]
    assert problem in listed(row)["job"]
    assert problem in told(row)["problem"]


def test_octets_that_are_no_text_are_no_job_either() -> None:
    """The bus tells them in base64."""
    fields = message(octets=2)
    del fields["text"]
    row = job_row("q", {**fields, "base64": base64.b64encode(b"\xff\x00").decode()}, 0.0)
    assert (row["job"], listed(row)["arguments"]) == (None, "-")


@pytest.mark.parametrize("properties", [{"emqp:client": "frontend nothex"}, {"emqp:headers": "retry-count:x"}])
def test_properties_that_make_no_sense_do_not_hide_the_job(properties: dict[str, str]) -> None:
    """Anybody may have put it there."""
    row = job_row("q", message(properties=properties), 0.0)
    assert row["job"] == "shop.jobs:Mail.send"
    assert row["problem"]
