"""Does the codec read every message of both dialects, write what it has read, and refuse the rest?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.codec import VERSION, decode, encode
from fmqbus.protocols.emqp.commands import (
    Ack,
    Command,
    Disconnect,
    Goodbye,
    Heartbeat,
    Hello,
    Inform,
    Progress,
    Publish,
    Ready,
    Reply,
    Request,
    Role,
    Schedule,
    ShowSchedulers,
    ShowWorkers,
    SpecifiedGoodbye,
    Status,
    Unschedule,
)
from tests import vectors
from tests.protocols.emqp.written import VECTORS
from tests.vectors.zmtp import messages

ID = b"3f2b8f0e-6d0e-4d3c-9a51-0c8a5e0f7b11"
REQUEST_ID = b"a7c1f5d2-1b7e-4c0f-8f5e-2d9b6c4e8a30"
RUN = VECTORS["request"][6]

#: What each vector is; those that are not here are refused.
EXPECTED: dict[str, Command] = {
    "inform_worker": Inform(ID, b'[[10, "default"]]'),
    "inform_worker_default": Inform(ID, b""),
    "inform_worker_specified": Inform(ID, b"[40, 'email'], [10, 'x']"),
    "inform_worker_five_parts": Inform(ID, b"[40, 'email']"),
    "inform_scheduler": Inform(ID, b"", Role.SCHEDULER),
    "ack": Ack(b"ack-1", ID),
    "ack_ours": Ack(b"ack-1", ID, is_ours=True),
    "heartbeat": Heartbeat(ID, b"1795811751.8149068"),
    "heartbeat_without_time": Heartbeat(ID),
    "ready": Ready(ID),
    "progress": Progress(ID, b'{"fraction": 0.5, "note": "half"}', REQUEST_ID),
    "request": Request(ID, b"default", b"reply-requested", RUN),
    "request_without_headers": Request(ID, b"default", b"", RUN),
    "request_with_extra_parts": Request(ID, b"default", b"", RUN),
    "reply_of_worker": Reply(ID, b'{"value": "one"}', REQUEST_ID),
    "reply_specified": Reply(ID, b'{"value": null}'),
    "reply_of_status": Reply(ID, b'{"waiting_messages_by_queue": {}}'),
    "schedule": Schedule(ID, b"default", b"guarantee", RUN, b"60", b""),
    "schedule_cron": Schedule(ID, b"default", b"nohaste", RUN, b"-1", b"0,30 * * * *"),
    "schedule_specified": Schedule(ID, b"default", b"interval:60", RUN),
    "unschedule": Unschedule(ID, b"default", b"", RUN, b"-1", b""),
    "publish": Publish(ID, b"probe.topic", b'["update", "1"]'),
    "publish_with_headers": Publish(ID, b"probe.topic", b'["update", "1"]', b""),
    "disconnect": Disconnect(ID),
    "kbye": Goodbye(ID),
    "kbai": SpecifiedGoodbye(ID),
    "hello": Hello(ID),
    "status": Status(ID),
    "status_of": Status(ID, b"show_managers"),
    "show_workers": ShowWorkers(ID),
    "show_schedulers": ShowSchedulers(ID),
    "lower_case": Ready(ID),
}
#: Those that are written otherwise than they were read: with a role, a time, without what is ignored, in capitals.
TOLERATED = {"inform_worker_five_parts", "heartbeat_without_time", "request_with_extra_parts", "lower_case"}


@pytest.mark.parametrize("name", EXPECTED)
def test_each_vector_is_read_as_what_it_is(name: str) -> None:
    """The specification's dialect and the one in the field. (eMQP, Global Frames, Client, Scheduler, Worker, Publisher;
    reading 58)"""
    assert decode(VECTORS[name], DEFAULT_LIMITS) == EXPECTED[name]
    assert type(decode(VECTORS[name], DEFAULT_LIMITS)) is type(EXPECTED[name])


@pytest.mark.parametrize("name", EXPECTED.keys() - TOLERATED)
def test_each_vector_is_written_as_it_was_read(name: str) -> None:
    """Part by part: a broker hands on what its peers understand. (eMQP, Global Frames)"""
    assert encode(EXPECTED[name]) == VECTORS[name]


@pytest.mark.parametrize("name", TOLERATED)
def test_what_is_tolerated_is_written_in_good_order(name: str) -> None:
    """And is read as the same again. (reading 2)"""
    assert decode(encode(EXPECTED[name]), DEFAULT_LIMITS) == EXPECTED[name]


@pytest.mark.parametrize("vector", [v for v in vectors.load("emqp") if v.name.startswith("invalid_")], ids=str)
def test_wrong_version_missing_parts_and_text_that_is_none_are_refused(vector: vectors.Vector) -> None:
    """Counted and dropped; the reason is a word of ours. (reading 27)"""
    with pytest.raises(PeerError) as refused:
        decode(next(messages(vector.octets)), DEFAULT_LIMITS)
    assert vector.expect == f"counted as {refused.value.reason}, dropped"


def test_every_vector_is_either_expected_or_refused() -> None:
    """None is forgotten."""
    assert EXPECTED.keys() | {name for name in VECTORS if name.startswith("invalid_")} == VECTORS.keys()


def test_bodies_may_be_any_octets() -> None:
    """Subscribers that are not EventMQ's may have them. (reading 28)"""
    publish = Publish(b"1", b"topic", b"\xff\x00")
    assert decode(encode(publish), DEFAULT_LIMITS) == publish


def test_other_parts_behind_an_ack_say_nothing() -> None:
    """They are accepted, whatever they are. (reading 2)"""
    for more in ([b"\xff"], [b"another"], [b"", b"fmqbus"]):
        assert decode([*VECTORS["ack"], *more], DEFAULT_LIMITS) == Ack(b"ack-1", ID)


def test_text_beside_the_body_is_bounded() -> None:
    """The body itself is bounded by who carries it. (reading 28)"""
    limits = Limits(control_octets=100)
    decode(encode(Request(b"1", b"q" * 50, b"h" * 49, bytes(1000))), limits)
    with pytest.raises(PeerError):
        decode(encode(Request(b"1", b"q" * 50, b"h" * 50, b"")), limits)


def test_text_need_not_be_ascii() -> None:
    """UTF-8 is what everybody reads. (reading 28)"""
    request = Request("ä".encode(), "kö".encode(), b"", b"")
    assert decode(encode(request), DEFAULT_LIMITS) == request


def test_ten_thousand_parts_are_one_message_too_many_at_most() -> None:
    """Those behind the last field are not even looked at. (reading 2)"""
    assert decode([*VECTORS["ready"], *[b"\xff"] * 10_000], DEFAULT_LIMITS) == Ready(ID)


def test_no_word_leads_to_anything_but_a_command() -> None:
    """Not to a method, whatever it is called. (reading 27)"""
    for word in (b"", b"decode", b"__init__", b"on_request", b"\xff"):
        with pytest.raises(PeerError) as refused:
            decode([b"", VERSION, word, b"1"], DEFAULT_LIMITS)
        assert refused.value.reason == "command"


@given(st.lists(st.binary(max_size=20), max_size=12), st.sampled_from(sorted(EXPECTED)))
def test_any_parts_are_read_or_refused(fields: list[bytes], name: str) -> None:
    """And what was read is read again from what is written. (reading 27)"""
    try:
        command = decode([*VECTORS[name][:4], *fields], DEFAULT_LIMITS)
    except PeerError:
        return
    assert decode(encode(command), DEFAULT_LIMITS) == command
