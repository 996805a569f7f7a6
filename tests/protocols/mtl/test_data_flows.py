"""Data flows of one place: how they begin, what is answered, and how they end; whatever the profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from twisted.logger import capturedLogs
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.app.plugs import Plug
from fmqbus.interfaces import IMTLProfile
from fmqbus.model import Origin, PeerFacts
from fmqbus.protocols.mtl.codec import encode
from fmqbus.protocols.mtl.commands import (
    Confirm,
    Content,
    Dismiss,
    Lease,
    Open,
    Ping,
    Pong,
    Profile,
    Reader,
    Reject,
    Response,
    Summon,
    Writer,
)
from fmqbus.protocols.mtl.field_table import FieldTable
from fmqbus.protocols.mtl.profiles.topic import Topic
from tests.protocols.mtl.memory_place import BAD, FORBIDDEN, OK, Flow, Place
from tests.protocols.mtl.written import VECTORS

MANY = 2**64 - 1


def test_a_flow_begins_with_a_lease() -> None:
    """The Response echoes the sequence. (MTL, Initializing a Data Flow; reading 39)"""
    place = Place()
    client, flow = place.ready("topic"), place.flow()
    assert flow.tell(Lease(MANY, client.lease(Reader()))) == [Response(MANY, OK)]


def test_before_its_lease_a_flow_is_answered_and_forgotten() -> None:
    """403 for Summon and Dismiss, Pong for Ping, nothing for all else; a flow that stands is known by it, as a Dismiss
    without a name is 400 there.
    (MTL, Initializing a Data Flow; readings 29 and 40)"""
    place = Place()
    flow = place.flow()
    asked = [Summon(1, b"a"), Dismiss(2, b"a"), Dismiss(3, b""), Ping(), Pong(), Response(4, 200)]
    silent = [Content(5, b"a"), Confirm(6), Reject(7)]
    assert flow.tell(*asked, *silent) == [*[Response(number, FORBIDDEN) for number in (1, 2, 3)], Pong()]
    assert len(place.protocol._broker.flows) == 0
    assert place.drops == {"unleased": 6}
    flow.lease(place.ready("topic").lease(Reader()))
    assert flow.tell(Dismiss(3, b"")) == [Response(3, BAD)]


def test_a_lease_that_is_none_is_forbidden() -> None:
    """Never given, used, or too old; and it is not known by anything which.
    (MTL, Initializing a Data Flow; readings 27 and 28)"""
    place = Place()
    client = place.ready("topic")
    used, old = client.lease(Reader()), client.lease(Reader())
    place.flow(b"1").lease(used)
    for token in (b"", b"x" * 255, used, old[:-1], old.swapcase()):
        place.flow(b"2").lease(token, FORBIDDEN)
    place.wait(60)
    place.flow(b"2").lease(old, FORBIDDEN)
    assert place.drops == {"lease-unknown": 6}


def test_a_reader_and_a_writer_may_share_a_flow() -> None:
    """Two readers may not, and the lease that is refused is good elsewhere. (reading 28)"""
    place = Place()
    client, flow = place.ready("topic"), place.flow()
    reader, writer, second = (client.lease(kind()) for kind in (Reader, Writer, Reader))
    flow.lease(reader)
    flow.lease(writer)
    flow.lease(second, FORBIDDEN)
    place.flow(b"2").lease(second)
    assert flow.tell(Summon(1, b"a"), Content(1, b"a", b"", b"x")) == [Response(1, OK), Content(1, b"a", b"", b"x")]


def test_two_leases_of_one_flow_may_be_two_clients() -> None:
    """Each with its profile. (readings 16, 28 and 30)"""
    place = Place()
    flow, bystander = place.flow(), place.bystander()
    flow.lease(place.ready("topic", b"1").lease(Reader()))
    flow.lease(place.ready("queue", b"2").lease(Writer()))
    consumer = bystander.consume(b"q")
    bystander.publish(b"a", b"missed")
    assert flow.tell(Summon(1, b"a"), Content(1, b"q", b"", b"x")) == [Response(1, OK)]
    bystander.publish(b"a", b"y")
    assert flow.bodies() == [b"y"]
    assert bystander.taken_payloads == [b"x"]
    assert consumer.unsettled


def test_pipelined_commands_are_each_answered() -> None:
    """By their own sequence, which is not looked at. (MTL, Initializing a Data Flow; reading 39)"""
    place = Place()
    flow = place.flow()
    token = place.ready("topic").lease(Reader())
    assert flow.tell(Lease(7, token), Summon(7, b"a"), Summon(3, b"b"), Dismiss(7, b"a"), Summon(0, b"a")) == [
        Response(7, OK),
        Response(7, OK),
        Response(3, OK),
        Response(7, OK),
        Response(0, OK),
    ]


@pytest.mark.parametrize("profile", ["topic", "queue"])
def test_nothing_is_summoned_or_dismissed_twice(profile: str) -> None:
    """Without the other between; and only what the lease is for, by its exact name.
    (MTL, Summoning a Resource; Dismissing a Resource; readings 40 and 42)"""
    flow = Place().reader(profile, b"a", resources=(b"a", b"b"))
    assert flow.tell(
        Summon(1, b"a"), Summon(2, b"c"), Summon(3, b""), Dismiss(4, b"b"), Dismiss(5, b"a"), Dismiss(6, b"a")
    ) == [*[Response(number, BAD) for number in (1, 2, 3, 4)], Response(5, OK), Response(6, BAD)]
    assert flow.tell(Summon(7, b"a"), Summon(8, b"/b")) == [Response(7, OK), Response(8, BAD)]


@pytest.mark.parametrize("profile", ["topic", "queue"])
def test_two_spellings_of_one_name_are_not_summoned_together(profile: str) -> None:
    """Outer slashes mean nothing on the bus; whose contents would they be? (MTL, Summoning a Resource)"""
    flow = Place().reader(profile, b"/a", resources=(b"/a", b"a"))
    assert flow.tell(Summon(1, b"a"), Dismiss(2, b"/a"), Summon(3, b"a")) == [
        Response(1, BAD),
        Response(2, OK),
        Response(3, OK),
    ]


@pytest.mark.parametrize("profile", ["topic", "queue"])
def test_a_writers_flow_has_nothing_to_summon(profile: str) -> None:
    """Nor to dismiss or to confirm. (MTL, Summoning a Resource; readings 41 and 50)"""
    flow = Place().writer(profile, b"a")
    said = [Summon(1, b"a"), Dismiss(2, b"a"), Confirm(1), Reject(1, recycle=True)]
    assert flow.tell(*said) == [Response(1, BAD), Response(2, BAD)]


@pytest.mark.parametrize("profile", ["topic", "queue"])
def test_what_the_bus_does_not_bear_cannot_be_summoned(profile: str) -> None:
    """The Response is 400, and it may be tried again. (MTL, Summoning a Resource; reading 9)"""
    place = Place(tables="[limits]\nsubscriptions_per_peer = 1\nconsumers_per_peer = 1")
    flow = place.reader(profile, b"a", resources=(b"a", b"b"))
    assert flow.tell(Summon(1, b"b"), Dismiss(2, b"a"), Summon(3, b"b")) == [
        Response(1, BAD),
        Response(2, OK),
        Response(3, OK),
    ]


ILL_FORMED: Sequence[Sequence[bytes]] = (
    [b"\x08"],
    [b"\x08", b"", b""],
    [b"\x08x", b""],
    [b"\x00", b""],
    [b"\x0a", b""],
    [b"\xff" * 10, b""],
    [b"\x03", b""],
    [b"\x03" + bytes(8) + b"\x02a", b""],
    [b"\x03" + bytes(8) + b"\x01\n", b""],
    [b"\x06" + bytes(8) + b"\x02", b""],
    [b"\x05" + bytes(8) + b"\x01a" + bytes(3), b""],
    [b"\x05" + bytes(8) + b"\x01a" + b"\0\0\0\1", b""],
)


@pytest.mark.parametrize("parts", ILL_FORMED)
def test_ill_formed_commands_are_dropped_in_silence(parts: Sequence[bytes]) -> None:
    """Each is counted, and the flow goes on. (MTL, Data Flow Error Handling; readings 35, 36, 37, 38 and 54)"""
    place = Place()
    flow = place.reader("topic", b"a")
    flow.say_parts(parts)
    assert flow.heard_parts() == []
    assert sum(place.drops.values()) == 1
    assert flow.tell(Ping()) == [Pong()]


def test_a_ping_is_answered_and_so_are_its_trimmings() -> None:
    """Whatever is in its body, which MUST be there. (MTL, Heartbeating; readings 35 and 54)"""
    flow = Place().reader("topic", b"a")
    flow.say_parts([b"\x08", b"anything"])
    assert flow.heard_parts() == [[b"\x09", b""]]


def test_a_silent_flow_is_pinged() -> None:
    """And one that is not heard, however much it is sent. (MTL, Heartbeating; reading 53)"""
    place = Place("ping = 2")
    reader = place.reader("topic", b"a")
    bystander = place.bystander()
    pings = 0
    for _ in range(5):
        place.wait(1)
        bystander.publish(b"a", b"x")
        pings += reader.heard_all().count(Ping())
        reader.say(Pong())
    assert pings == 0
    for _ in range(5):
        place.wait(1)
        bystander.publish(b"a", b"x")
    assert reader.heard_all().count(Ping()) == 2


def test_a_flow_that_is_silent_for_long_has_ended() -> None:
    """What it had summoned is nobody's, and what it had in hand is another's. (MTL, Heartbeating; reading 31)"""
    place = Place("ping = 2\nsilent-pings = 3")
    reader, other = place.reader("queue", b"q", full=True), place.reader("queue", b"q", full=True, identity=b"2")
    bystander = place.bystander()
    bystander.enqueue(b"q", b"1")
    bystander.enqueue(b"q", b"2")
    place.wait()
    assert (reader.bodies(), other.bodies()) == ([b"1"], [b"2"])
    for second in range(7):
        place.wait(1)
        other.say(Pong())
        if second == 4:
            assert reader.heard_all() == [Ping(), Ping()]
    place.wait()
    assert other.bodies() == [b"1"]
    assert reader.tell(Summon(1, b"q"), Confirm(1)) == [Response(1, FORBIDDEN)]


def test_the_end_of_one_flow_may_be_that_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are found silent together. Those who come later are looked at all the same."""
    place = Place("ping = 2\nsilent-pings = 3")
    for number in range(2):
        place.reader("topic", b"a", identity=b"%d" % number)
    flows = place.protocol._broker.flows
    end = flows.end

    def end_all(flow: Any, reason: str) -> None:
        for each in list(flows._flows.values()):
            end(each, reason)

    monkeypatch.setattr(flows, "end", end_all)
    for _ in range(10):
        place.wait(1)
    assert len(flows) == 0
    reader = place.reader("topic", b"a", identity=b"3")
    for _ in range(3):
        place.wait(1)
    assert Ping() in reader.heard_all()


def test_late_confirmations_find_nothing() -> None:
    """Of a flow that has ended, and begun anew under the same identity. (readings 31 and 50)"""
    place = Place("ping = 2")
    reader = place.reader("queue", b"q", full=True)
    place.bystander().enqueue(b"q", b"1")
    place.wait()
    assert reader.bodies() == [b"1"]
    for _ in range(7):
        place.wait(1)
    reader.lease(place.ready("queue").lease(Reader((b"q",), is_confirmed=True)))
    reader.heard()
    reader.say(Confirm(1))
    assert place.router.queue(b"q").ready == 1


@pytest.mark.parametrize("profile", ["topic", "queue"])
def test_a_flow_that_has_gone_ends(profile: str) -> None:
    """As ZeroMQ tells when something is sent to it. (readings 31 and 55)"""
    place = Place()
    reader = place.reader(profile, b"a", full=profile == "queue")
    reader.vanish()
    bystander = place.bystander()
    if profile == "topic":
        bystander.publish(b"a", b"1")
    else:
        bystander.enqueue(b"a", b"1")
    place.wait()
    place.wait()
    assert len(place.protocol._broker.flows) == 0
    if profile == "queue":
        assert place.router.queue(b"a").ready == 1


def _content_after(place: Place, gone: int, turns: int) -> Content:
    """What the only reader of a queue that is there hears within so many turns, where so many before it have gone
    without a word."""
    for reader in [place.reader("queue", b"q", full=True, identity=b"%d" % number) for number in range(gone)]:
        reader.vanish()
    there = place.reader("queue", b"q", full=True)
    place.bystander().enqueue(b"q", b"1")
    for _ in range(turns):
        place.wait()
    [content] = [heard for heard in there.heard() if isinstance(heard, Content)]
    return content


def test_those_who_go_together_do_not_hand_a_message_from_one_to_the_next() -> None:
    """When one is found to have gone, so are the others; and who was sent nothing has not had it. (reading 31)"""
    place = Place()
    assert FieldTable(_content_after(place, gone=50, turns=10).properties).fields == {}
    assert place.router.queue(b"q").delivered <= 3
    assert len(place.protocol._broker.flows) == 1


def test_no_message_becomes_a_dead_letter_for_readers_that_have_gone() -> None:
    """However many there are that were not found out together. (readings 17 and 31)"""
    place = Place(tables="[queues]\ndelivery_limit = 2\n")
    place.protocol._broker.flows._may_look = False
    assert FieldTable(_content_after(place, gone=20, turns=40).properties).fields == {}


def test_what_the_carrier_lost_is_a_flow_that_has_gone() -> None:
    """Messages waited for it. (reading 31)"""
    place = Place()
    reader = place.reader("topic", b"a")
    place.protocol.peer_lost(place.data_socket, b"reader", [[b"x"]] * 3)
    place.protocol.peer_lost(place.data_socket, b"unheard of", [[b"x"]] * 3)
    assert reader.tell(Summon(1, b"b")) == [Response(1, FORBIDDEN)]


def test_the_same_identity_from_elsewhere_ends_the_flow() -> None:
    """It has been taken over: nothing more is to be sent there. (readings 30 and 31)"""
    place = Place()
    reader = place.reader("topic", b"a")
    thief = place.flow(b"reader", Origin(PeerFacts("tcp", "192.0.2.7"), "DEALER"))
    assert thief.tell(Summon(1, b"b"), Ping()) == [Response(1, FORBIDDEN), Pong()]
    place.bystander().publish(b"a", b"secret")
    assert thief.heard() == []
    assert reader.tell(Summon(1, b"b")) == [Response(1, FORBIDDEN)]


def test_who_comes_back_under_its_identity_has_its_flow_still() -> None:
    """From the same address nobody can tell the difference."""
    place = Place()
    place.reader("topic", b"a")
    again = place.flow(b"reader")
    place.bystander().publish(b"a", b"1")
    assert again.bodies() == [b"1"]


def test_flows_are_bounded() -> None:
    """One too many is forbidden, and its lease stays good. (reading 28)"""
    place = Place(tables="[limits]\nconnections = 1")
    client = place.ready("topic")
    place.flow(b"1").lease(client.lease(Reader()))
    token = client.lease(Writer())
    place.flow(b"2").lease(token, FORBIDDEN)
    place.flow(b"1").lease(token)


def test_when_a_right_is_lost_the_resource_is_no_longer_summoned() -> None:
    """There is no word for it; the client may summon it anew, and is told 400. (MTL, Summoning a Resource)"""
    rule = '[[access.rules]]\neffect = "allow"\nactions = "*"\nwho = ["*"]\nnames = ["{}"]\n'
    tables = '[access]\nauthorizers = ["rules"]\n'
    for profile in ("topic", "queue"):
        place = Place(tables=tables + rule.format("a") + rule.format("b"))
        flow = place.reader(profile, b"a", b"b")
        place.reload(tables + rule.format("b"))
        assert flow.tell(Summon(1, b"a"), Dismiss(2, b"a"), Dismiss(3, b"b")) == [
            Response(1, BAD),
            Response(2, BAD),
            Response(3, OK),
        ]


@implementer(IPlugin, IMTLProfile)
class Broken(Topic):
    """A vendor's profile that fails."""

    name = "acme/broken"

    def writer(self, flow: Any) -> Any:
        raise ValueError("a mistake of the vendor's")


class _BrokenReader:
    def summon(self, resource: bytes) -> None:
        raise ValueError("a mistake of the vendor's")


@implementer(IPlugin, IMTLProfile)
class BrokenReading(Topic):
    """Another."""

    name = "acme/reading"

    def reader(self, flow: Any) -> Any:
        return _BrokenReader()


@pytest.mark.parametrize("broken", [Broken, BrokenReading])
def test_a_profile_that_fails_ends_its_flow_alone(broken: Any) -> None:
    """It is logged, and others go on."""
    place = Place(plugs=[Plug(IMTLProfile, broken.name, "this test", broken())])
    well = place.reader("topic", b"a")
    client, flow = place.client(), place.flow()
    client.replies_to(Open(), Profile(broken.name))
    with capturedLogs() as log:
        if broken is Broken:
            assert flow.tell(Lease(1, client.lease(Writer()))) == []
        else:
            flow.lease(client.lease(Reader()))
            assert flow.tell(Summon(1, b"a")) == []
    assert [event["log_failure"] for event in log if "log_failure" in event]
    assert flow.tell(Summon(1, b"a")) == [Response(1, FORBIDDEN)]
    sessions = [session for session in place.router.sessions() if session.principal.protocol == "mtl"]
    assert len(sessions) == 2, "the broker's own, and the other flow"
    assert well.tell(Ping()) == [Pong()]


def _prepared(name: str) -> Flow:
    """A flow to which has happened what a vector supposes."""
    place = Place()
    if name in {"lease_unknown", "summon_before_lease"}:
        return place.flow()
    client = place.ready("queue" if name.startswith(("confirm", "reject")) else "test")
    flow = place.flow()
    is_confirmed = name.startswith(("confirm", "reject"))
    if name != "lease":
        flow.lease(client.lease(Reader((b"resource",), is_confirmed)))
        flow.lease(client.lease(Writer((b"resource",), is_confirmed)))
    if name.startswith(("summon_twice", "dismiss", "confirm", "reject")):
        flow.say(Summon(1, b"resource"))
    if name == "dismiss_twice":
        flow.say(Dismiss(2, b"resource"))
    flow.heard()
    return flow


DATA = [vector for vector in VECTORS.values() if (vector.flow, vector.direction) == ("data", "client->broker")]


@pytest.mark.parametrize("vector", DATA, ids=lambda vector: vector.name)
def test_each_vector_is_answered_as_it_says(vector: Any) -> None:
    """As far as it says so; a lease is the one that was given. (MTL, Data Flow; Data Flow Error Handling)"""
    flow = _prepared(vector.name)
    parts = list(vector.parts)
    if vector.name == "lease":
        token = flow.place.ready("test").lease(Reader())
        parts = encode(Lease(int.from_bytes(parts[0][1:9], "big"), token))
    flow.say_parts(parts)
    heard = flow.heard_parts()
    if vector.reply is not None:
        assert heard == vector.reply
    else:
        assert vector.name == "reject_recycle"
