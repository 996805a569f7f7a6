"""The control flow, from Open to a lease, without logins (see test_login.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.logger import capturedLogs, formatEvent

from fmqbus.protocols.mtl.codec import encode
from fmqbus.protocols.mtl.commands import (
    Authorize,
    DataLease,
    Done,
    Lease,
    Open,
    Profile,
    Reader,
    Ready,
    Reply,
    Request,
    Response,
    Summon,
    Unauthorized,
    Writer,
    declined,
)
from fmqbus.protocols.mtl.statuses import Status
from tests.protocols.mtl.memory_place import BAD, CONTROL_PORT, DATA_PORT, DEALER, OK, STRANGER, Client, Place
from tests.protocols.mtl.written import VECTORS, comparable

BAD_REQUEST = declined(Status.BAD_REQUEST)
NOT_IMPLEMENTED = declined(Status.NOT_IMPLEMENTED)
PROFILES = ("queue", "test", "topic")


def test_a_whole_conversation() -> None:
    """One reply to each request, and no word without one.
    (MTL, General Operation; Control Flow; Client Authentication; Selecting a Profile; Requesting a Data Lease)"""
    client = Place().client()
    assert client.ask(Open("test-env")) == Ready(PROFILES)
    assert client.ask(Profile("test")) == Done()
    reply = client.ask(Reader((b"resource",)))
    assert isinstance(reply, DataLease)
    assert reply.port == CONTROL_PORT
    client.place.wait(3600)
    assert client.heard() == []


@pytest.mark.parametrize("host", ["", "home", "test-env", "ä/ö", "x" * 1000])
def test_any_virtual_host_will_do_where_none_is_configured(host: str) -> None:
    """Real clients ask for ``home`` and ``test-env``. (reading 4)"""
    assert Place().client().ask(Open(host)) == Ready(PROFILES)


def test_virtual_hosts_are_name_spaces_where_they_are_configured() -> None:
    """Others are refused, all in the same way; inside there is no way out. (reading 4)"""
    place = Place('virtual-hosts = {shop = "shops/one", all = ""}')
    for host in ("other", "", "SHOP", "shops/one"):
        assert place.client().ask(Open(host)) == BAD_REQUEST
    client, flow, bystander = place.client(), place.flow(), place.bystander()
    assert client.replies_to(Open("shop"), Profile("topic")) == [Ready(PROFILES), Done()]
    flow.lease(client.lease(Reader((b"a", b"*", b"../b"))))
    assert flow.tell(Summon(1, b"*")) == [Response(1, OK)]
    for topic in (b"a", b"shops/one/a", b"shops/two/a"):
        bystander.publish(topic, topic)
    assert flow.contents() == [(b"a", b"shops/one/a")]
    bystander.subscribe(b"shops/one/$/b")
    flow.lease(client.lease(Writer()))
    flow.write(b"1", resource=b"$/b")
    assert bystander.payloads == [b"1"]
    assert place.client(b"2").ask(Open("all")) == Ready(PROFILES)


def test_what_names_no_place_is_no_virtual_host() -> None:
    """The bus does not start."""
    for prefix in ("*", "$/x", "/", "a/*"):
        with pytest.raises(Exception, match=r"protocols\.mtl\.virtual-hosts\.shop"):
            Place(f'virtual-hosts = {{shop = "{prefix}"}}')


@pytest.mark.parametrize("request_", [Authorize("PLAIN"), Profile("test"), Reader(), Writer()])
def test_nothing_goes_before_open(request_: Request) -> None:
    """It MUST be first. (MTL, Client Authentication; reading 6)"""
    assert Place().client().ask(request_) == BAD_REQUEST


def test_who_has_not_opened_costs_nothing() -> None:
    """A flood of junk leaves nothing behind."""
    place = Place()
    for number in range(1000):
        place.client(b"%d" % number).ask(Reader())
    assert len(place.protocol._broker.control) == 0
    assert place.drops == {"state": 1000}


def test_a_session_is_an_identitys() -> None:
    """ROUTER tells who says something, and no more. (reading 1)"""
    place = Place()
    ready, other = place.ready("topic", b"1"), place.client(b"2")
    assert other.ask(Reader()) == BAD_REQUEST
    assert isinstance(ready.ask(Reader()), DataLease)


def test_a_session_that_nobody_uses_ends() -> None:
    """And what it was given and did not use with it. Its flows go on. (reading 1)"""
    place = Place("idle = 10")
    client, flow, late = place.ready("topic"), place.flow(b"1"), place.flow(b"2")
    flow.lease(client.lease(Reader()))
    unused = client.lease(Reader())
    place.wait(9)
    flow.tell(Summon(1, b"a"))
    assert isinstance(client.ask(Reader()), DataLease)
    place.wait(9)
    assert isinstance(client.ask(Reader()), DataLease)
    for _ in range(11):
        place.wait(1)
        flow.say(Summon(2, b"a"))
    assert client.ask(Reader()) == BAD_REQUEST
    late.lease(unused, 403)
    flow.heard()
    place.bystander().publish(b"a", b"1")
    assert flow.bodies() == [b"1"]


def test_open_begins_anew() -> None:
    """The profile is gone, and leases that nobody has used; flows go on. (reading 5)"""
    place = Place()
    client, flow = place.ready("topic"), place.flow()
    flow.lease(client.lease(Reader()))
    flow.tell(Summon(1, b"a"))
    unused = client.lease(Reader())
    assert client.ask(Open()) == Ready(PROFILES)
    assert client.ask(Reader()) == BAD_REQUEST
    place.flow(b"2").lease(unused, 403)
    place.bystander().publish(b"a", b"1")
    assert flow.bodies() == [b"1"]


def test_a_second_profile_is_for_what_comes_then() -> None:
    """Leases keep the profile that they were made under. (reading 16)"""
    place = Place()
    client, reads, consumes = place.ready("topic"), place.flow(b"1"), place.flow(b"2")
    token = client.lease(Reader((b"a",)))
    assert client.ask(Profile("QUEUE")) == Done()
    reads.lease(token)
    consumes.lease(client.lease(Reader((b"a",))))
    reads.tell(Summon(1, b"a"))
    consumes.tell(Summon(1, b"a"))
    bystander = place.bystander()
    bystander.publish(b"a", b"topic")
    bystander.enqueue(b"a", b"queue")
    place.wait()
    assert (reads.bodies(), consumes.bodies()) == ([b"topic"], [b"queue"])


def test_a_profile_must_be_one_of_those_that_were_offered() -> None:
    """The configuration may offer fewer. (MTL, Selecting a Profile; reading 17)"""
    client = Place('profiles = ["topic", "test"]').client()
    assert client.ask(Open()) == Ready(("topic", "test"))
    for name in ("queue", "", "tests", "Topic "):
        assert client.ask(Profile(name)) == BAD_REQUEST
    assert client.ask(Profile("topic")) == Done()


def test_profiles_that_are_not_installed_cannot_be_offered() -> None:
    """The bus does not start."""
    with pytest.raises(Exception, match=r"protocols\.mtl\.profiles: 'acme/x' is not installed"):
        Place('profiles = ["acme/x"]')


@pytest.mark.parametrize("kind", [Reader, Writer])
def test_a_lease_takes_a_profile(kind: type[Reader | Writer]) -> None:
    """The client MUST have chosen one. (MTL, Requesting a Data Lease; reading 23)"""
    client = Place().client()
    client.ask(Open())
    assert client.ask(kind()) == BAD_REQUEST


@pytest.mark.parametrize("kind", [Reader, Writer])
def test_the_profile_says_what_can_be_confirmed(kind: type[Reader | Writer]) -> None:
    """If it cannot, the server MUST say 501. (MTL, Requesting a Data Lease; The Test Profile; reading 22)"""
    client = Place().ready("test")
    assert client.ask(kind((b"resource",), is_confirmed=True)) == NOT_IMPLEMENTED
    for profile in ("topic", "queue"):
        client.ask(Profile(profile))
        assert isinstance(client.ask(kind((b"a",), is_confirmed=True)), DataLease)


def test_the_test_profile_has_one_resource() -> None:
    """Called ``resource``, exactly; none is named for all, which is that one.
    (MTL, The Test Profile; readings 19 and 20)"""
    place = Place()
    client, flow = place.ready("test"), place.flow()
    for kind in (Reader, Writer):
        for resources in ([b"other"], [b"resource", b"other"], [b"Resource"], [b"/resource"]):
            assert client.ask(kind(tuple(resources))) == BAD_REQUEST
    flow.lease(client.lease(Reader()))
    assert flow.tell(Summon(1, b"a"), Summon(2, b"resource")) == [Response(1, BAD), Response(2, OK)]


def test_other_profiles_have_what_is_used() -> None:
    """No command creates anything. (readings 18 and 20)"""
    place = Place()
    client = place.ready("queue")
    assert isinstance(client.ask(Reader((b"never/heard/of",))), DataLease)
    client.say_parts([b"", b"Queue.Create", b'{"name": "a"}'])
    assert client.heard() == [NOT_IMPLEMENTED]


@pytest.mark.parametrize("resource", [b"*", b"a/*", b"$/manage/queues", b"/", b"//"])
def test_what_is_no_name_of_a_queue_is_refused_at_once(resource: bytes) -> None:
    """It was well-formed. (MTL, Control Flow Error Handling; reading 9)"""
    client = Place().ready("queue")
    assert client.ask(Reader((b"a", resource))) == BAD_REQUEST
    assert client.ask(Writer((resource,))) == BAD_REQUEST


def test_rights_are_asked_when_a_lease_is() -> None:
    """For each resource by itself; any and all are asked for when one is used. (reading 20)"""
    rule = '[[access.rules]]\neffect = "allow"\nactions = ["{}"]\nwho = ["*"]\nnames = ["open/**"]\n'
    place = Place(tables="".join(map(rule.format, ("subscribe", "publish", "consume", "enqueue"))))
    client, flow = place.client(origin=STRANGER), place.flow(origin=STRANGER)
    client.ask(Open())
    for profile in ("topic", "queue"):
        client.ask(Profile(profile))
        for kind in (Reader, Writer):
            assert isinstance(client.ask(kind((b"open/a", b"open/b"))), DataLease)
            assert client.ask(kind((b"open/a", b"closed"))) == BAD_REQUEST
            assert isinstance(client.ask(kind()), DataLease)
    client.ask(Profile("test"))
    assert client.ask(Reader()) == BAD_REQUEST
    client.ask(Profile("topic"))
    flow.lease(client.lease(Reader()))
    assert flow.tell(Summon(1, b"open/a"), Summon(2, b"closed")) == [Response(1, OK), Response(2, BAD)]


def test_the_port_is_that_of_data_flows() -> None:
    """Of a socket of their own, or of the one for both. (reading 24)"""
    for has_data_port, port in ((False, CONTROL_PORT), (True, DATA_PORT)):
        reply = Place(has_data_port=has_data_port).ready("topic").ask(Reader())
        assert isinstance(reply, DataLease)
        assert reply.port == port


def test_on_one_socket_the_parts_tell_the_flows_apart() -> None:
    """Also where one identity has both. (reading 25)"""
    place = Place()
    client, flow = place.ready("topic", b"both", DEALER), place.flow(b"both")
    flow.lease(client.lease(Reader((b"a",))))
    assert flow.tell(Summon(1, b"a")) == [Response(1, OK)]
    assert isinstance(client.ask(Open()), Ready)


def test_on_two_sockets_each_hears_its_own() -> None:
    """What belongs to the other is dropped. (readings 24 and 25)"""
    place = Place(has_data_port=True)
    client, flow = place.ready("topic"), place.flow()
    client.say_parts(encode(Lease(1, client.lease(Reader()))))
    flow.say_parts(encode(Open()))
    assert (client.heard_parts(), flow.heard_parts()) == ([], [])
    assert place.drops == {"flow": 2}


def test_leases_are_bounded() -> None:
    """A client that never uses them is told no; they end by themselves. (reading 27)"""
    place = Place(tables="[limits]\nleases_per_peer = 2\nlease_seconds = 5.0")
    client = place.ready("topic")
    [token, _] = [client.lease(Reader()) for _ in range(2)]
    assert client.ask(Reader()) == BAD_REQUEST
    assert place.drops == {"leases-per-peer": 1}
    place.wait(5)
    place.flow().lease(token, 403)
    assert isinstance(client.ask(Reader()), DataLease)


def test_sessions_are_bounded() -> None:
    """One that is not used gives way; one that is does not."""
    place = Place(tables="[limits]\nconnections = 2")
    first, second, third = (place.client(identity) for identity in (b"1", b"2", b"3"))
    first.ask(Open())
    second.ask(Open())
    assert third.ask(Open()) == BAD_REQUEST
    assert second.ask(Open()) == Ready(PROFILES)
    place.wait(60)
    second.ask(Profile("topic"))
    assert third.ask(Open()) == Ready(PROFILES)
    assert first.ask(Profile("topic")) == BAD_REQUEST
    assert isinstance(second.ask(Reader()), DataLease)


def test_where_nobody_can_log_in_authorize_is_told_so() -> None:
    """And nothing changes. (reading 13)"""
    client = Place().ready("topic")
    assert client.ask(Authorize("PLAIN", b"\0anna\0x")) == Unauthorized(())
    assert isinstance(client.ask(Reader()), DataLease)


ILL_FORMED: Sequence[Sequence[bytes]] = (
    [b""],
    [b"", b"Connection.Open"],
    [b"", b"Connection.Open", b"{}", b"{}"],
    [b"", b"Connection.Open", b"{"],
    [b"", b"Connection.Open", b""],
    [b"", b"no.such", b"\xff"],
)


@pytest.mark.parametrize("parts", ILL_FORMED)
def test_ill_formed_requests_are_dropped_in_silence(parts: Sequence[bytes]) -> None:
    """They are counted, and the log says that a REQ waits for good. (MTL, Control Flow Error Handling; reading 2)"""
    place = Place()
    client = place.client()
    with capturedLogs() as log:
        client.say_parts(parts)
    assert client.heard_parts() == []
    assert sum(place.drops.values()) == 1
    assert [text for text in map(formatEvent, log) if text and "a REQ, which now waits for good" in text]


def test_well_formed_requests_are_answered_whatever_they_are() -> None:
    """The server MUST. (MTL, Control Flow Error Handling; readings 3, 8 and 9)"""
    client = Place().ready("topic")
    cases: Sequence[tuple[bytes, bytes, Reply]] = (
        (b"Connection.Open", b"[]", BAD_REQUEST),
        (b"Connection.Open", b'{"protocol": {"name": "AMQP", "version": 1}}', BAD_REQUEST),
        (b"Connection.Open", b'{"protocol": {"name": "MTL", "version": 2}}', NOT_IMPLEMENTED),
        (b"Connection.Reader", b'{"resources": 1}', BAD_REQUEST),
        (b"Connection.Writer", b'{"resources": ["\\u0000"]}', BAD_REQUEST),
        (b"Connection.Close", b"{}", NOT_IMPLEMENTED),
        (b"", b"{}", NOT_IMPLEMENTED),
    )
    for name, body, reply in cases:
        client.say_parts([b"", name, body])
        assert client.heard() == [reply]
    # none of it has changed anything
    assert isinstance(client.ask(Reader()), DataLease)


def test_a_client_that_has_gone_gets_no_answer_and_harms_nobody() -> None:
    """As a REQ that vanishes between request and reply."""
    place = Place()
    gone, there = place.client(b"gone"), place.client(b"there")
    gone.socket.gone.add(b"gone")
    assert gone.replies_to(Open(), Profile("topic"), Reader()) == []
    assert place.drops == {"detached": 3}
    assert there.ask(Open()) == Ready(PROFILES)


def test_an_identity_that_comes_from_elsewhere_has_not_opened() -> None:
    """Identities prove nothing. The one that has it still has it, unless another opens. (readings 1 and 5)"""
    place = Place()
    client = place.ready("topic")
    thief = place.client(origin=STRANGER)
    assert thief.ask(Reader()) == BAD_REQUEST
    assert isinstance(client.ask(Reader()), DataLease)
    assert thief.ask(Open()) == Ready(PROFILES)
    assert client.ask(Reader()) == BAD_REQUEST


def test_when_the_bus_ends_nobody_is_let_in_and_all_has_been_sent() -> None:
    """Those who ask are told no."""
    place = Place()
    reader, client = place.reader("topic", b"a"), place.client()
    place.bystander().publish(b"a", b"last")
    place.protocol.stopping()
    assert client.ask(Open()) == BAD_REQUEST
    place.stop()
    place.wait(20)
    place.wait()
    assert place.group.is_closed
    assert reader.bodies() == [b"last"]


def test_operators_are_told_how_many_there_are() -> None:
    """Sessions, flows, and leases that nobody has used; without a name."""
    place = Place()
    place.reader("topic", b"a").heard()
    place.ready("queue").lease(Reader())
    told = {reading.metric.name: reading for reading in place.router.vitals.readings() if reading is not None}
    names = ("fmqbus_mtl_sessions", "fmqbus_mtl_data_flows", "fmqbus_mtl_leases_unused")
    assert [(told[name].value, told[name].labels) for name in names] == [(2, ()), (1, ()), (1, ())]


def _prepared(name: str) -> Client:
    """A client to which has happened what a vector supposes."""
    client = Place().client()
    if name not in {"open", "open_zmetal", "open_case", "open_bad_protocol", "open_newer_version"}:
        client.ask(Open())
        if name.startswith(("reader", "writer")) and name != "reader_without_profile":
            client.ask(Profile("test"))
    return client


CONTROL = [vector for vector in VECTORS.values() if (vector.flow, vector.direction) == ("control", "client->broker")]


@pytest.mark.parametrize("vector", CONTROL, ids=lambda vector: vector.name)
def test_each_vector_is_answered_as_it_says(vector: Any) -> None:
    """As far as it says so. (MTL, Control Flow; Selecting a Profile; Control Flow Error Handling)"""
    client = _prepared(vector.name)
    client.say_parts(vector.parts)
    heard = client.heard_parts()
    if vector.name == "open":
        # ours has more profiles
        assert heard[0][1] == b"201"
        assert b'"test"' in heard[0][2]
    elif vector.reply is not None:
        assert list(map(comparable, heard)) == list(map(comparable, vector.reply))
    else:
        assert len(heard) == 1
