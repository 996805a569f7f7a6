"""Does the codec read every message, write what it has read, and tell what is ill-formed from what is invalid?"""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.mtl.codec import decode, decode_from_broker, encode, is_control
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Challenged,
    Command,
    Confirm,
    Content,
    DataLease,
    Dismiss,
    Done,
    Failed,
    Lease,
    Open,
    Ping,
    Pong,
    Profile,
    Reader,
    Ready,
    Reject,
    Reply,
    Request,
    Response,
    Summon,
    Unauthorized,
    Writer,
    declined,
)
from fmqbus.protocols.mtl.control_codec import decode_reply
from fmqbus.protocols.mtl.statuses import Declined, Status
from tests.protocols.mtl.written import VECTORS, Parts, comparable

RESOURCE = b"resource"
TABLE = bytes.fromhex("0474797065530000000a746578742f706c61696e047072696f6c000000000000000501787401")

#: What each vector of a client is; those that are not here are refused.
EXPECTED: dict[str, Request | Command] = {
    "open": Open("test-env"),
    "open_zmetal": Open("home"),
    "open_case": Open("test-env"),
    "authorize_plain": Authorize("PLAIN", b"\0guest\0guest"),
    "profile": Profile("test"),
    "profile_case": Profile("test"),
    "profile_unknown": Profile("nope"),
    "reader": Reader((RESOURCE,)),
    "writer_any": Writer(),
    "reader_full_in_test": Reader((RESOURCE,), is_confirmed=True),
    "reader_without_profile": Reader(),
    "reader_unknown_resource": Reader((b"nope",)),
    "lease": Lease(1, b"K7Q2"),
    "lease_unknown": Lease(7, b"nope"),
    "summon_before_lease": Summon(1, RESOURCE),
    "summon": Summon(2, RESOURCE),
    "summon_twice": Summon(3, RESOURCE),
    "summon_unknown": Summon(4, b"nope"),
    "dismiss": Dismiss(5, RESOURCE),
    "dismiss_twice": Dismiss(6, RESOURCE),
    "content_empty_table": Content(1, RESOURCE, b"", b"hello"),
    "content_table": Content(2, RESOURCE, TABLE, b"hello"),
    "content_no_table": Content(3, RESOURCE, b"", b"hello"),
    "content_no_resource": Content(4, b"", b"", b"hello"),
    "confirm_one": Confirm(3),
    "confirm_multiple": Confirm(3, multiple=True),
    "reject_recycle": Reject(2, recycle=True),
    "reject_drop": Reject(2, multiple=True),
    "confirm_unknown": Confirm(99),
    "ping": Ping(),
    "zmtp_dealer_ping": Ping(),
}
#: What the broker says.
FROM_BROKER: dict[str, Reply | Command] = {
    "reply_401": Unauthorized(("PLAIN", "ANONYMOUS")),
    "reply_402": Challenged("CRAM-MD5", b"<1.2@fmqbus>"),
    "content_delivered": Content(1, RESOURCE, b"", b"hello"),
}
#: Dropped, and why.
ILL_FORMED = {
    "bad_json": "json",
    "control_three_frames": "parts",
    "control_one_frame": "parts",
    "data_one_frame": "parts",
    "header_short": "header",
    "header_trailing": "header",
    "bool_two": "boolean",
    "unknown_type": "type",
}
#: Answered by what, and why.
INVALID = {
    "open_bad_protocol": (Status.BAD_REQUEST, "protocol"),
    "open_newer_version": (Status.NOT_IMPLEMENTED, "version"),
    "unknown_command": (Status.NOT_IMPLEMENTED, "command"),
    "not_an_object": (Status.BAD_REQUEST, "members"),
    "zmtp_req_open": (Status.BAD_REQUEST, "protocol"),
}
#: ZeroMQ's own.
HANDSHAKES = {"zmtp_req_ready"}
#: Written with what was left out.
COMPLETED = {"content_no_table", "profile_case"}


def request(name: str, members: object) -> Parts:
    return [b"", name.encode(), members if isinstance(members, bytes) else json.dumps(members).encode()]


def refusal(parts: Parts, limits: Limits = DEFAULT_LIMITS) -> tuple[Status | None, str]:
    """By what and why it is refused."""
    with pytest.raises(PeerError) as refused:
        decode(parts, limits)
    return (refused.value.status if isinstance(refused.value, Declined) else None), refused.value.reason


# the vectors


def test_every_vector_is_expected_somewhere() -> None:
    """None is forgotten."""
    named = [*EXPECTED, *FROM_BROKER, *ILL_FORMED, *INVALID, *HANDSHAKES]
    assert sorted(named) == sorted(VECTORS)


@pytest.mark.parametrize("name", EXPECTED)
def test_each_vector_is_read_as_what_it_is(name: str) -> None:
    """Names of commands and profiles in any case, names of resources exactly; any virtual host; a header that ends
    before its field table.
    (MTL, Control Flow; Data Command Encoding; readings 4, 7, 32 and 35)"""
    read = decode(VECTORS[name].parts, DEFAULT_LIMITS)
    assert read == EXPECTED[name]
    assert type(read) is type(EXPECTED[name])


@pytest.mark.parametrize("name", EXPECTED.keys() - COMPLETED)
def test_each_vector_is_written_as_it_was_read(name: str) -> None:
    """As a client of ours says it: octet by octet, but for what JSON leaves free. (readings 32 and 33)"""
    assert comparable(encode(EXPECTED[name])) == comparable(VECTORS[name].parts)


@pytest.mark.parametrize("name", COMPLETED)
def test_what_is_tolerated_is_written_in_good_order(name: str) -> None:
    """And is read as the same again. (readings 7 and 32)"""
    assert comparable(encode(EXPECTED[name])) != comparable(VECTORS[name].parts)
    assert decode(encode(EXPECTED[name]), DEFAULT_LIMITS) == EXPECTED[name]


@pytest.mark.parametrize("name", FROM_BROKER)
def test_what_a_broker_says_is_read_and_written(name: str) -> None:
    """Our client reads it, our broker writes it. (MTL, Client Authentication; Receiving Content)"""
    assert decode_from_broker(VECTORS[name].parts, DEFAULT_LIMITS) == FROM_BROKER[name]
    assert comparable(encode(FROM_BROKER[name])) == comparable(VECTORS[name].parts)


@pytest.mark.parametrize("name", [name for name, vector in VECTORS.items() if vector.reply])
def test_each_reply_of_the_vectors_can_be_said(name: str) -> None:
    """They are read by a client, and written as they were."""
    for parts in VECTORS[name].reply or ():
        assert comparable(encode(decode_from_broker(parts, DEFAULT_LIMITS))) == comparable(parts)


@pytest.mark.parametrize("name", ILL_FORMED)
def test_what_is_ill_formed_is_dropped(name: str) -> None:
    """Silently, as the text asks; it is counted by the reason. (readings 2, 35, 36, 37 and 38)"""
    assert refusal(VECTORS[name].parts) == (None, ILL_FORMED[name])
    assert VECTORS[name].reply == []


@pytest.mark.parametrize("name", INVALID)
def test_what_is_well_formed_but_invalid_is_answered(name: str) -> None:
    """By 501 what a later broker may know, by 400 everything else. (readings 3, 4, 8 and 9)"""
    status, reason = INVALID[name]
    assert refusal(VECTORS[name].parts) == (status, reason)
    for parts in VECTORS[name].reply or ():
        assert comparable(encode(declined(status))) == comparable(parts)


def test_what_libzmq_writes_is_a_dealer_without_and_a_req_with_an_empty_part() -> None:
    """So the two flows can be told apart on one socket. (readings 25 and 55)"""
    assert is_control(VECTORS["zmtp_req_open"].parts)
    assert not is_control(VECTORS["zmtp_dealer_ping"].parts)
    assert b"Socket-Type\0\0\0\3REQ" in VECTORS["zmtp_req_ready"].parts[0]


# control flow


def test_members_that_are_missing_have_defaults() -> None:
    """No virtual host; no resources, which is any; no confirmation; an empty response. (readings 12, 19 and 21)"""
    protocol = {"protocol": {"name": "MTL", "version": 1}}
    assert decode(request("Connection.Open", protocol), DEFAULT_LIMITS) == Open()
    assert decode(request("Connection.Reader", {}), DEFAULT_LIMITS) == Reader((), is_confirmed=False)
    assert decode(request("Connection.Authorize", {"mechanism": "X"}), DEFAULT_LIMITS) == Authorize("X", b"")


def test_members_that_nobody_knows_are_ignored() -> None:
    """A later client may say more. (MTL, Goals)"""
    assert decode(request("Connection.Profile", {"profile": "Topic", "x": [1]}), DEFAULT_LIMITS) == Profile("topic")


def test_a_reader_may_say_how_many_contents_it_takes_in_hand() -> None:
    """A member of ours, which is not said where there is nothing to say. (docs/protocols/mtl.md)"""
    assert decode(request("Connection.Reader", {"window": 10}), DEFAULT_LIMITS) == Reader(window=10)
    assert encode(Reader(window=10))[2] == b'{"resources":[],"confirm":"none","window":10}'
    assert b"window" not in encode(Reader())[2]
    assert decode(request("Connection.Writer", {"window": "any"}), DEFAULT_LIMITS) == Writer()


def test_members_have_their_exact_names() -> None:
    """Only the names of commands and profiles have no case. (reading 7)"""
    assert refusal(request("Connection.Profile", {"Profile": "test"})) == (Status.BAD_REQUEST, "members")
    assert decode(request("connection.reader", {"resources": ["A", "a"]}), DEFAULT_LIMITS) == Reader((b"A", b"a"))


@pytest.mark.parametrize(
    ("name", "members", "reason"),
    [
        ("Connection.Open", 1, "members"),
        ("Connection.Open", {"protocol": {"name": "mtl", "version": 1}}, "protocol"),
        ("Connection.Open", {"protocol": {"name": "MTL"}}, "protocol"),
        ("Connection.Open", {"protocol": {"name": "MTL", "version": 0}}, "protocol"),
        ("Connection.Open", {"protocol": {"name": "MTL", "version": True}}, "members"),
        ("Connection.Open", {"protocol": {"name": "MTL", "version": 1}, "virtual-host": None}, "members"),
        ("Connection.Authorize", {}, "members"),
        ("Connection.Authorize", {"mechanism": "PLAIN", "response": "AGd=="}, "base64"),
        ("Connection.Authorize", {"mechanism": "PLAIN", "response": "ä"}, "base64"),
        ("Connection.Profile", {"profile": 1}, "members"),
        ("Connection.Reader", {"resources": "a"}, "members"),
        ("Connection.Reader", {"resources": [1]}, "members"),
        ("Connection.Reader", {"resources": [""]}, "resources"),
        ("Connection.Reader", {"resources": ["a" * 256]}, "text"),
        ("Connection.Reader", {"resources": ["ä" * 128]}, "text"),
        ("Connection.Reader", {"resources": ["a\nb"]}, "text"),
        ("Connection.Reader", {"window": -1}, "members"),
        ("Connection.Reader", {"window": "10"}, "members"),
        ("Connection.Writer", {"confirm": "some"}, "members"),
        ("Connection.Writer", {"confirm": "FULL"}, "members"),
        ("Connection.Writer", b'{"port": 1%s}' % (b"0" * 5000), "members"),
    ],
)
def test_requests_that_cannot_be_had_are_answered_by_400(name: str, members: object, reason: str) -> None:
    """They are JSON, so the client is told. (readings 3, 4, 22 and 34)"""
    assert refusal(request(name, members)) == (Status.BAD_REQUEST, reason)


@pytest.mark.parametrize("body", [b"", b"{} x", b"nan", b'"\xff"', b'"\\ud800"', b"\xef\xbb\xbf{}", b"[" * 20_000])
def test_what_is_no_json_is_dropped_whatever_it_is_for(body: bytes) -> None:
    """Also where the command is unknown; nesting without an end too. (reading 2)"""
    for name in ("Connection.Open", "Queue.Create", ""):
        assert refusal(request(name, body)) == (None, "json")


def test_no_name_leads_to_anything_but_a_request() -> None:
    """Not to a method, whatever it is called; nor are there commands that create resources. (readings 8 and 18)"""
    for name in (b"", b"decode", b"Connection.Close", b"Queue.Create", b"__init__", b"\xff"):
        assert refusal([b"", name, b"{}"]) == (Status.NOT_IMPLEMENTED, "command")


def test_long_requests_are_refused_unread() -> None:
    """And answered, since a REQ socket would wait for good. (reading 2)"""
    limits = Limits(control_octets=100)
    assert refusal(request("Connection.Profile", b" " * 101), limits) == (Status.BAD_REQUEST, "size")


def test_a_lease_is_for_so_many_resources_at_most_each_once() -> None:
    """In their order. (MTL, Requesting a Data Lease)"""
    limits = Limits(resources_per_lease=2)
    parts = request("Connection.Reader", {"resources": ["b", "a", "b"]})
    assert decode(parts, limits) == Reader((b"b", b"a"))
    assert refusal(request("Connection.Reader", {"resources": ["b", "a", "c"]}), limits)[1] == "resources"


@pytest.mark.parametrize("resource", ["a" * 255, "ä" * 127 + "a"])
def test_a_resource_may_be_as_long_as_a_short_string(resource: str) -> None:
    """255 octets, whatever their letters. (reading 34)"""
    assert decode(request("Connection.Reader", {"resources": [resource]}), Limits()) == Reader((resource.encode(),))


def test_replies_have_a_status_and_a_port_that_is_a_number() -> None:
    """The printed example lacks a comma; ours is valid JSON. (readings 9 and 10)"""
    _, digits, body = encode(DataLease(5975, b"K7Q2"))
    assert (digits, json.loads(body)) == (b"202", {"status": "Data Lease", "port": 5975, "lease": "K7Q2"})
    assert json.loads(encode(Ready(("test", "topic")))[2]) == {"status": "Ready", "profiles": ["test", "topic"]}
    for status in Status:
        assert json.loads(encode(declined(status))[2]) == {"status": status.text}


def test_clients_bear_any_status_there_may_be() -> None:
    """Three digits, 2xx to 5xx. (reading 9)"""
    assert decode_reply([b"", b"503", b"{}"], DEFAULT_LIMITS) == Failed(503, "")
    for digits in (b"", b"20", b"0200", b"199", b"600", b"2x0", b"\xef\xbc\x92"):
        with pytest.raises(PeerError):
            decode_reply([b"", digits, b"{}"], DEFAULT_LIMITS)


@pytest.mark.parametrize(
    ("digits", "body"),
    [
        (b"201", b'{"profiles": "test"}'),
        (b"201", b"[]"),
        (b"202", b'{"port": "5975", "lease": "K7Q2"}'),
        (b"202", b'{"port": 5975 "lease": "K7Q2"}'),
        (b"202", b'{"port": 5975, "lease": "' + b"K" * 256 + b'"}'),
        (b"402", b'{"mechanism": "PLAIN", "challenge": "?"}'),
        (b"400", b'{"status": 1}'),
        (b"200", b'{"status": "OK"}' + b" " * 100_000),
    ],
)
def test_replies_that_say_something_else_are_refused(digits: bytes, body: bytes) -> None:
    """As the one that the text prints, without its comma. (reading 10)"""
    with pytest.raises(PeerError):
        decode_reply([b"", digits, body], DEFAULT_LIMITS)


# data flows


@pytest.mark.parametrize("name", [name for name in EXPECTED if VECTORS[name].flow == "data"])
def test_a_header_cut_anywhere_is_ill_formed(name: str) -> None:
    """But where a content ends before its field table. (readings 32 and 36)"""
    command = EXPECTED[name]
    header, body = VECTORS[name].parts
    for end in range(len(header)):
        if isinstance(command, Content) and end == 10 + len(command.resource):
            assert decode([header[:end], body], DEFAULT_LIMITS) == msgspec.structs.replace(command, properties=b"")
        else:
            assert refusal([header[:end], body]) == (None, "header" if end else "parts")


@pytest.mark.parametrize("sequence", [0, 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1])
def test_integers_are_unsigned_and_have_eight_octets(sequence: int) -> None:
    """Whatever they are. (MTL, Field Encodings)"""
    for command in (Lease(sequence, b"x"), Content(sequence, b"x"), Confirm(sequence), Reject(sequence, True, True)):
        assert encode(command)[0][1:9] == sequence.to_bytes(8, "big")
        assert decode(encode(command), DEFAULT_LIMITS) == command


def test_bodies_of_commands_that_have_none_are_ignored() -> None:
    """Yet they must be there; and a Ping has one octet. (readings 35 and 54)"""
    for command in (Lease(1, b"x"), Summon(1, b"x"), Dismiss(1, b"x"), Confirm(1), Reject(1), Ping(), Pong()):
        header, body = encode(command)
        assert body == b""
        assert decode([header, b"whatever"], DEFAULT_LIMITS) == command
        assert refusal([header]) == (None, "parts")
        assert refusal([header, b"", b""]) == (None, "parts")
    assert encode(Ping())[0] == b"\x08"
    assert encode(Pong())[0] == b"\x09"
    assert refusal([b"\x08\x00", b""]) == (None, "header")


@pytest.mark.parametrize("name", [b"\xff", b"a\0", b"a\x7f", "a\x85".encode(), b"\xed\xa0\x80"])
def test_short_strings_are_text_that_can_be_printed(name: bytes) -> None:
    """UTF-8 without control characters. (reading 34)"""
    for command in (Summon(1, name), Dismiss(1, name), Lease(1, name), Content(1, name)):
        assert refusal(encode(command)) == (None, "text")
    assert decode(encode(Summon(1, "ä €".encode())), DEFAULT_LIMITS) == Summon(1, "ä €".encode())


def test_field_tables_are_handed_on_as_they_are() -> None:
    """Only their length has to fit: what is in them may be anything. (readings 32 and 33)"""
    content = Content(1, b"x", b"\xff no table \x00", b"")
    assert decode(encode(content), DEFAULT_LIMITS) == content
    header, body = encode(content)
    for lie in (0, 1, 11, 13, 2**31, 2**32 - 1):
        lying = header[:11] + lie.to_bytes(4, "big") + header[15:]
        assert refusal([lying, body]) == (None, "header")


def test_headers_and_bodies_are_bounded() -> None:
    """Names and properties as text is, bodies as bodies are."""
    limits = Limits(control_octets=100, body_octets=10)
    decode(encode(Content(1, b"", bytes(86), bytes(10))), limits)
    assert refusal(encode(Content(1, b"", bytes(87), b"")), limits) == (None, "header")
    assert refusal(encode(Content(1, b"", b"", bytes(11))), limits) == (None, "body")


def test_a_response_has_three_digits() -> None:
    """In its body. (MTL, Initializing a Data Flow)"""
    assert encode(Response(1, 200)) == [bytes.fromhex("020000000000000001"), b"200"]
    assert decode(encode(Response(1, 403)), DEFAULT_LIMITS) == Response(1, 403)
    assert refusal([bytes.fromhex("020000000000000001"), b"OK"]) == (None, "code")


@pytest.mark.parametrize("command", [Confirm(-1), Confirm(2**64), Summon(1, b"a" * 256), Content(1, b"a" * 256)])
def test_what_has_no_place_is_a_mistake_of_ours(command: Command) -> None:
    """It is not cut off in silence."""
    with pytest.raises(LocalError):
        encode(command)


def test_nothing_at_all_is_ill_formed() -> None:
    """No parts, or empty ones. (reading 2)"""
    for parts in ([], [b""], [b"", b""], [b"", b"", b""]):
        assert refusal(parts)[0] is None


# anything


_names = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=60).map(str.encode)
_numbers = st.integers(0, 2**64 - 1)
_requests = st.one_of(
    st.builds(Open, st.text(st.characters(codec="utf-8"))),
    st.builds(Authorize, st.text(st.characters(codec="utf-8")), st.binary()),
    st.builds(Profile, st.text(st.characters(codec="ascii")).map(str.lower)),
    st.builds(Reader, st.lists(_names.filter(bool), unique=True).map(tuple), st.booleans(), st.integers(0, 2**63)),
    st.builds(Writer, st.lists(_names.filter(bool), unique=True).map(tuple), st.booleans()),
)
_replies = st.one_of(
    st.just(Done()),
    st.builds(Ready, st.lists(st.text(st.characters(codec="utf-8"))).map(tuple)),
    st.builds(Unauthorized, st.lists(st.text(st.characters(codec="utf-8"))).map(tuple)),
    st.builds(Challenged, st.text(st.characters(codec="utf-8")), st.binary()),
    st.builds(DataLease, st.integers(0, 65535), _names),
    st.builds(Failed, st.sampled_from([400, 403, 501, 599]), st.text(st.characters(codec="utf-8"))),
)
_commands = st.one_of(
    st.builds(Lease, _numbers, _names),
    st.builds(Response, _numbers, st.integers(200, 599)),
    st.builds(Summon, _numbers, _names),
    st.builds(Dismiss, _numbers, _names),
    st.builds(Content, _numbers, _names, st.binary(), st.binary()),
    st.builds(Confirm, _numbers, st.booleans()),
    st.builds(Reject, _numbers, st.booleans(), st.booleans()),
    st.sampled_from([Ping(), Pong()]),
)


@given(_requests | _commands)
def test_what_clients_say_is_read_as_it_was_said(said: Request | Command) -> None:
    """Whatever it is."""
    assert decode(encode(said), DEFAULT_LIMITS) == said


@given(_replies | _commands)
def test_what_brokers_say_is_read_as_it_was_said(said: Reply | Command) -> None:
    """Whatever it is."""
    assert decode_from_broker(encode(said), DEFAULT_LIMITS) == said


@given(st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"{}", b"Connection.Open", b"\x05" + bytes(9)])))
def test_any_parts_are_read_or_refused(parts: list[bytes]) -> None:
    """And nothing but an error of ours comes of it."""
    for read in (decode, decode_from_broker):
        try:
            said = read(parts, DEFAULT_LIMITS)
        except PeerError:
            continue
        else:
            assert read(encode(said), DEFAULT_LIMITS) == said
