"""What do bodies ask for, and what do results say?"""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.protocols.emqp.jobs import Job, parse_job, write_job
from fmqbus.protocols.emqp.results import (
    DONE,
    MOST_NOTE_CHARACTERS,
    HowFar,
    Result,
    parse_how_far,
    parse_result,
    write_how_far,
    write_result,
)
from tests.protocols.emqp.written import VECTORS


def test_the_body_of_a_request_names_a_call() -> None:
    """As EventMQ's clients write it."""
    job = parse_job(VECTORS["request"][6])
    assert job == Job("my.jobs", "mark", ["/tmp/marks", "one"])
    assert job.name == "my.jobs:mark"


def test_a_method_names_its_class() -> None:
    """With what the object is made of."""
    job = parse_job(b'["run", {"path": "a.b:C", "callable": "m", "class_args": [1], "class_kwargs": {"x": 2}}]')
    assert job == Job("a.b:C", "m", class_args=[1], class_kwargs={"x": 2})
    assert job.name == "a.b:C.m"


def test_only_path_and_callable_are_needed() -> None:
    """The others are filled in for those who need all six."""
    body = write_job(parse_job(b'["anything", {"path": "a", "callable": "f", "args": null}]'))
    assert json.loads(body) == [
        "run",
        {"path": "a", "callable": "f", "args": [], "kwargs": {}, "class_args": [], "class_kwargs": {}},
    ]


def test_the_text_is_ascii() -> None:
    """As that of real peers."""
    assert write_job(Job("a", "f", ["ä"])).isascii()


def test_a_body_that_names_something_is_not_looked_up() -> None:
    """Bad input: ``os.system`` is a name like any other; nothing is imported for it. (reading 30)"""
    assert "antigravity" not in sys.modules
    assert parse_job(b'["run", {"path": "antigravity", "callable": "system"}]').name == "antigravity:system"
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b'{"path": "a", "callable": "f"}',
        b'["run"]',
        b'["run", {"path": "a"}]',
        b'["run", {"path": "", "callable": "f"}]',
        b'["run", {"path": 1, "callable": "f"}]',
        b'["run", {"path": "a", "callable": "f", "args": {}}]',
        b'["run", {"path": "a", "callable": "f", "kwargs": []}]',
        b'["run", {"path": "a", "callable": "f"}, 3]',
        b'["run", {"path": "a", "callable": "\xff"}]',
        b"[" * 1_000_000,
        b"\x80\x04\x95",
        b'["run", {"path": "a", "callable": "f", "args": [' + b"9" * 5_000 + b"]}]",
    ],
)
def test_what_is_no_job_is_refused(body: bytes) -> None:
    """A job that is not JSON would make a real worker begin anew, again and again. (reading 29)"""
    with pytest.raises(PeerError) as refused:
        parse_job(body)
    assert refused.value.reason == "body"


def test_one_call_has_one_key() -> None:
    """The six members, whatever their order and whatever is left out. (reading 17)"""
    one = parse_job(b'["run", {"path": "a", "callable": "f", "kwargs": {"x": 1, "y": 2}}]')
    same = parse_job(b'["walk", {"kwargs": {"y": 2, "x": 1}, "args": [], "callable": "f", "path": "a"}]')
    other = parse_job(b'["run", {"path": "a", "callable": "f", "kwargs": {"x": 2, "y": 2}}]')
    assert one.key == same.key != other.key


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (b'{"value": "one"}', Result("one")),
        (b'{"value": null}', Result(None)),
        (b'{"value": {"a": [1]}}', Result({"a": [1]})),
        (b'{"value": "no", "error": "ValueError"}', Result("no", "ValueError")),
        (b'{"value": 1, "error": null, "more": 2}', Result(1)),
    ],
)
def test_results_are_read(body: bytes, result: Result) -> None:
    """EventMQ's, and ours with an explicit error. (reading 10)"""
    assert parse_result(body) == result


def test_what_has_nothing_to_say_is_true() -> None:
    """If there is no information, reply with a True value. (eMQP, Headers; reading 13)"""
    assert write_result(DONE) == b'{"value": true}'


def test_a_job_that_took_too_long_shows() -> None:
    """The one failure that real workers tell; an error's text they put there as well. (reading 10)"""
    assert parse_result(b'{"value": "TimeoutError"}').is_timeout
    assert Result("it took 5 s", "TimeoutError").is_timeout
    assert not parse_result(b'{"value": "something else"}').is_timeout


@pytest.mark.parametrize("body", [b"REPLY", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_result_is_refused(body: bytes) -> None:
    """The Go port's worker answers so; its job has ended all the same, which is the session's business. (reading 38)"""
    with pytest.raises(PeerError):
        parse_result(body)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5), st.text(max_size=9))
def test_results_are_written_and_read_as_the_same(value: object, error: str) -> None:
    """Whatever JSON can say."""
    assert parse_result(write_result(Result(value, error))) == Result(value, error)


@pytest.mark.parametrize("how_far", [HowFar(0.0), HowFar(0.5, "half, für alle"), HowFar(1.0, "done")])
def test_progress_is_read_as_it_was_written(how_far: HowFar) -> None:
    """An extension of ours. (reading 62)"""
    assert parse_how_far(write_how_far(how_far)) == how_far


def test_a_note_is_for_people_and_bounded() -> None:
    """And may be missing."""
    assert parse_how_far(b'{"fraction": 1}') == HowFar(1.0)
    assert parse_how_far(b'{"fraction": 1, "note": 5}') == HowFar(1.0)
    assert len(parse_how_far(b'{"fraction": 1, "note": "%s"}' % (b"x" * 10_000)).note) == MOST_NOTE_CHARACTERS


@pytest.mark.parametrize("body", [b"", b"1", b"{}", b'{"fraction": 2}', b'{"fraction": NaN}', b'{"fraction": "1"}'])
def test_what_tells_no_progress_is_refused(body: bytes) -> None:
    """Counted and dropped."""
    with pytest.raises(PeerError):
        parse_how_far(body)
