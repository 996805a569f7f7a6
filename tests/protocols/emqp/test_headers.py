"""What do headers say? (eMQP, Headers)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.protocols.emqp.headers import (
    LONGEST_SECONDS,
    MOST_HEADERS,
    MOST_RETRIES,
    MOST_RUNS,
    NO_HEADERS,
    Headers,
    parse_headers,
    write_headers,
)


@pytest.mark.parametrize("octets", [b"", b"  ", b"{}", b"set()", b",", b" , "])
def test_no_headers_are_the_defaults(octets: bytes) -> None:
    """An empty dictionary and an empty set as Python prints them are none. (eMQP, Headers; reading 9)"""
    assert parse_headers(octets) == NO_HEADERS


def test_no_headers_are_an_empty_part() -> None:
    """And nothing is written where the default holds. (eMQP, Headers)"""
    assert write_headers(NO_HEADERS) == b""
    assert write_headers(Headers(retry_count=0, timeout=0)) == b"timeout:0"


@pytest.mark.parametrize(
    ("octets", "headers"),
    [
        (b"reply-requested", Headers(reply_requested=True)),
        (b"guarantee", Headers(guarantee=True)),
        (b"nohaste", Headers(nohaste=True)),
        (b"retry-count:3", Headers(retry_count=3)),
        (b"retry-count:0", NO_HEADERS),
        (b"timeout:0", Headers(timeout=0)),
        (b"timeout:30", Headers(timeout=30)),
        (b"run_count:5", Headers(run_count=5)),
        (b"interval:60", Headers(interval=60)),
        (b"cron:0,30 * * * *", Headers(cron="0,30 * * * *")),
    ],
)
def test_each_header_is_read(octets: bytes, headers: Headers) -> None:
    """Those of the specification, EventMQ's run_count, and ours for the specification's SCHEDULE. (eMQP, Headers)"""
    assert parse_headers(octets) == headers


def test_spaces_do_not_count_and_the_last_one_holds() -> None:
    """Between commas, exact names. (reading 9)"""
    headers = parse_headers(b" guarantee , timeout: 5 ,timeout:7, nohaste,cron: 0,30 * * * * ")
    assert headers == Headers(guarantee=True, timeout=7, nohaste=True, cron="0,30 * * * *")


def test_names_are_not_found_within_others() -> None:
    """EventMQ's programs look for substrings, and would take these for ``guarantee`` and ``timeout``. (reading 9)"""
    headers = parse_headers(b"no-guarantee,my-timeout:5,Timeout:5,guarantee:1")
    assert headers == Headers(others=("no-guarantee", "my-timeout:5", "Timeout:5", "guarantee:1"))


def test_what_is_not_known_is_handed_on() -> None:
    """In its order, behind those that are known. (reading 9)"""
    assert write_headers(parse_headers(b"b:1,guarantee,a")) == b"guarantee,b:1,a"


def test_a_json_object_is_read_too() -> None:
    """The specification's REQUEST calls headers a dictionary. (reading 9)"""
    headers = parse_headers(b'{"reply-requested": true, "timeout": 5, "guarantee": false, "x": "y", "nohaste": null}')
    assert headers == Headers(reply_requested=True, timeout=5, others=("x:y",))


@pytest.mark.parametrize(
    "octets",
    [
        b"timeout:x",
        b"timeout:",
        b"timeout:-1",
        b"timeout:1.5",
        b"timeout:\xc2\xb2",
        b"timeout:%d" % (LONGEST_SECONDS + 1),
        b"timeout:" + b"9" * 10_000,
        b"retry-count:%d" % (MOST_RETRIES + 1),
        b"run_count:0",
        b"run_count:%d" % (MOST_RUNS + 1),
        b"interval:0",
        b",".join([b"a"] * (MOST_HEADERS + 1)),
        b"{",
        b'{"timeout": 1.5}',
        b'{"timeout": [5]}',
        b'{"a,b": true}',
        b'{"a": "\\ud800"}',
        b'{"a": "b\\n"}',
        b"{" + b'"a":' * 10_000,
    ],
)
def test_what_cannot_be_meant_is_refused(octets: bytes) -> None:
    """A number that is none would break a worker's loop; one without bound would hold a job for ever. (reading 9)"""
    with pytest.raises(PeerError) as refused:
        parse_headers(octets)
    assert refused.value.reason == "headers"


def test_as_many_headers_as_there_may_be_are_read() -> None:
    """Limits are what may be, not the first that may not."""
    assert parse_headers(b",".join([b"a"] * MOST_HEADERS)).others == ("a",) * MOST_HEADERS


@given(
    st.builds(
        Headers,
        reply_requested=st.booleans(),
        retry_count=st.integers(0, MOST_RETRIES),
        timeout=st.none() | st.integers(0, LONGEST_SECONDS),
        guarantee=st.booleans(),
        nohaste=st.booleans(),
        run_count=st.none() | st.integers(1, MOST_RUNS),
        interval=st.none() | st.integers(1, LONGEST_SECONDS),
        cron=st.none() | st.from_regex(r"[0-9*,/ ]{0,30}", fullmatch=True).map(str.strip),
        others=st.lists(st.sampled_from(["a", "b:1", "ä"]), max_size=3).map(tuple),
    )
)
def test_what_is_written_is_read_as_the_same(headers: Headers) -> None:
    """Whatever the combination. (eMQP, Headers)"""
    assert parse_headers(write_headers(headers)) == headers


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    """And if it is read, it can be written and read again."""
    try:
        headers = parse_headers(text.encode("utf-8", "ignore"))
    except PeerError:
        return
    assert parse_headers(write_headers(headers)) == headers
