"""Profiles ``topic`` and ``test`` on whole flows."""

from __future__ import annotations

import pytest

from fmqbus.protocols.mtl.commands import Confirm, Content, Dismiss, Pong, Reader, Reject, Response, Summon, Writer
from fmqbus.protocols.mtl.field_table import FieldTable, write_table
from tests.protocols.mtl.memory_place import BAD, OK, Flow, Place

EVERY = write_table({"retain": True, "priority": 3, "ttl": 1.5, "name": "x", "deep": {"a": [1, None]}, "raw": b"\xff"})


def both(place: Place, profile: str, identity: bytes = b"both", full: bool = False) -> Flow:
    """A flow that reads and writes any resource."""
    client, flow = place.ready(profile, b"c:" + identity), place.flow(identity)
    flow.lease(client.lease(Reader((), full)))
    flow.lease(client.lease(Writer((), full)))
    return flow


# topic


def test_a_content_goes_to_all_who_have_summoned_its_topic() -> None:
    """By the name that each calls it, counted by the server for each flow.
    (MTL, Sending Content to a Resource; Receiving Content from a Resource; readings 17 and 44)"""
    place = Place()
    readers = [place.reader("topic", name, identity=name) for name in (b"a", b"/a", b"a//")]
    other = place.reader("topic", b"b")
    place.writer("topic", b"a").write(b"1", b"2")
    for reader in readers:
        name = reader.identity
        assert reader.heard() == [Content(1, name, b"", b"1"), Content(2, name, b"", b"2")]
    assert other.heard() == []


def test_one_who_is_both_gets_its_own() -> None:
    """As any other. (reading 52)"""
    for profile in ("topic", "test"):
        flow = both(Place(), profile)
        assert flow.tell(Summon(1, b"resource"), Content(1, b"resource", EVERY, b"x")) == [
            Response(1, OK),
            Content(1, b"resource", EVERY, b"x"),
        ]


def test_without_a_name_a_content_goes_to_the_only_resource_there_is() -> None:
    """Else a name is required; the server always writes it. (MTL, Sending Content to a Resource; readings 46 and 47)"""
    place = Place()
    reader = place.reader("topic", b"a", b"b")
    place.writer("topic", b"a").write(b"1")
    several, any_ = place.writer("topic", b"a", b"b", identity=b"2"), place.writer("topic", identity=b"3")
    several.write(b"lost")
    any_.write(b"lost")
    several.write(b"2", resource=b"b")
    any_.write(b"3", resource=b"a")
    several.write(b"lost", resource=b"c")
    assert reader.contents() == [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]
    assert place.drops == {"no-resource": 2, "resource": 1}


def test_the_response_goes_before_the_contents() -> None:
    """Of a Summon: the server MUST send it first, also where something is kept.
    (MTL, Receiving Content from a Resource)"""
    place = Place()
    place.bystander().publish(b"a", b"kept", retain=True)
    flow = both(place, "topic")
    first, *others = flow.tell(Content(1, b"a", b"", b"lost"), Summon(1, b"a"), Content(2, b"a", b"", b"new"))
    assert first == Response(1, OK)
    assert [content.body for content in others if isinstance(content, Content)] == [b"kept", b"new"]


def test_what_is_kept_comes_to_who_summons_later() -> None:
    """A content with ``retain``, whose value is yes; and one of another protocol, which then has it. (reading 17)"""
    place = Place()
    table = write_table({"retain": True, "n": 1})
    writer = place.writer("topic")
    for name, properties in ((b"a", table), (b"b", write_table({"retain": "true"})), (b"c", b"")):
        writer.write(b"1", resource=name, properties=properties)
    place.bystander().publish(b"d", b"2", retain=True)
    reader = place.flow()
    reader.lease(place.ready("topic").lease(Reader()))
    reader.say(*[Summon(number, name) for number, name in enumerate((b"a", b"b", b"c", b"d"))])
    contents = [heard for heard in reader.heard() if isinstance(heard, Content)]
    assert [(content.resource, dict(FieldTable(content.properties))) for content in contents] == [
        (b"a", {"retain": True, "n": 1}),
        (b"d", {"retain": True}),
    ]


def test_after_a_dismiss_nothing_more_comes() -> None:
    """Not even what waits, wherever it does; the server MUST NOT.
    (MTL, Dismissing a Resource; Receiving Content from a Resource; reading 43)"""
    place = Place()
    reader, bystander = place.reader("topic", b"a", b"b"), place.bystander()
    reader.stop_reading()
    for body in (b"1", b"2", b"3"):
        bystander.publish(b"a", body)
        bystander.publish(b"b", body)
    assert reader.bodies() == [b"1"]
    assert reader.tell(Dismiss(1, b"a")) == [Response(1, OK)]
    bystander.publish(b"a", b"4")
    reader.read_on()
    assert reader.contents() == [(b"b", body) for body in (b"1", b"2", b"3")]
    assert reader.tell(Summon(2, b"a")) == [Response(2, OK)]


def test_wildcards_bring_contents_by_their_own_names() -> None:
    """One copy, also where several fit; where one fits exactly, by that. (reading 46)"""
    place = Place()
    reader, bystander = place.reader("topic", b"a/*", b"*/b", b"/a/c"), place.bystander()
    for topic in (b"a/b", b"a/c", b"x/b", b"x/c"):
        bystander.publish(topic, topic)
    assert reader.contents() == [(b"a/b", b"a/b"), (b"/a/c", b"a/c"), (b"x/b", b"x/b")]
    reader.tell(Dismiss(1, b"a/*"))
    bystander.publish(b"a/b", b"1")
    assert reader.contents() == [(b"a/b", b"1")]


def test_a_reader_that_confirms_nothing_gets_no_more_and_loses_the_oldest_at_last() -> None:
    """What waits in the bus is bounded as for any slow subscriber. (reading 51)"""
    place = Place("reader-window = 2", tables="[limits]\noutbox_octets = 1000")
    reader, bystander = place.reader("topic", b"a", full=True), place.bystander()
    for number in range(10):
        bystander.publish(b"a", b"%d" % number)
    assert reader.bodies() == [b"0", b"1"]
    reader.say(Confirm(100, multiple=True), Confirm(0), Reject(2**64 - 1, multiple=True))
    assert reader.heard() == []
    bodies = []
    for sequence in range(1, 10):
        reader.say(Confirm(sequence))
        bodies += reader.bodies()
    assert bodies[-3:] == [b"7", b"8", b"9"]
    assert len(bodies) + place.drops["outbox-full"] == 8


def test_a_reader_may_take_fewer_in_hand() -> None:
    """Ours: a member of Connection.Reader, never more than the setting. (reading 51)"""
    place = Place("reader-window = 3")
    bystander = place.bystander()
    few = place.reader("topic", b"a", full=True, window=1, identity=b"1")
    many = place.reader("topic", b"a", full=True, window=1000, identity=b"2")
    for number in range(5):
        bystander.publish(b"a", b"%d" % number)
    assert (few.bodies(), many.bodies()) == ([b"0"], [b"0", b"1", b"2"])


def test_whatever_is_said_of_a_publication_makes_room() -> None:
    """There is no other reader who could have it. (reading 17)"""
    place = Place("reader-window = 1")
    reader, bystander = place.reader("topic", b"a", full=True), place.bystander()
    for number in range(4):
        bystander.publish(b"a", b"%d" % number)
    bodies = reader.bodies()
    for sequence, settling in enumerate((Confirm, Reject), start=1):
        reader.say(settling(sequence))
        bodies += reader.bodies()
    reader.say(Reject(3, recycle=True))
    assert bodies + reader.bodies() == [b"0", b"1", b"2", b"3"]


def test_without_confirmation_the_link_alone_holds_back() -> None:
    """And confirmations mean nothing. (readings 50 and 51)"""
    place = Place("reader-window = 1")
    reader, bystander = place.reader("topic", b"a"), place.bystander()
    for number in range(3):
        bystander.publish(b"a", b"%d" % number)
    assert reader.bodies() == [b"0", b"1", b"2"]
    reader.say(Confirm(1), Reject(2, recycle=True))
    reader.stop_reading()
    for number in range(3, 6):
        bystander.publish(b"a", b"%d" % number)
    assert reader.bodies() == [b"3"]
    reader.read_on()
    assert reader.bodies() == [b"4", b"5"]


def test_contents_are_confirmed_when_they_are_published() -> None:
    """All of a turn at once. (MTL, Content Confirmation; reading 48)"""
    writer = Place().writer("topic", b"a", full=True)
    writer.write(b"1", b"2", b"3")
    assert writer.heard() == [Confirm(3, multiple=True)]


def test_contents_that_cannot_be_are_rejected_for_good() -> None:
    """Of a resource that the lease is not for, or that names no topic; those around them are confirmed.
    (MTL, Data Flow Error Handling; reading 47)"""
    place = Place()
    writer = place.writer("topic", full=True)
    writer.say(Content(1, b"a"), Content(2, b""), Content(3, b"///"), Content(4, b"a"))
    assert writer.heard() == [Reject(2), Reject(3), Confirm(4, multiple=True)]
    other = place.writer("topic", b"a", full=True, identity=b"2")
    other.say(Content(1, b"b"))
    assert other.heard() == [Reject(1)]


def test_after_a_gap_each_content_is_confirmed_by_itself() -> None:
    """What is missing is not safe. (reading 44)"""
    writer = Place().writer("topic", b"a", full=True)
    writer.say(*[Content(number, b"a") for number in (1, 3, 4, 2**64 - 1, 0)])
    assert writer.heard() == [Confirm(1, multiple=True), *[Confirm(number) for number in (3, 4, 2**64 - 1, 0)]]


def test_what_is_not_allowed_is_rejected() -> None:
    """Also where the lease was for any and all. (reading 47)"""
    rule = '[[access.rules]]\neffect = "allow"\nactions = "*"\nwho = ["*"]\nnames = ["a"]\n'
    place = Place(tables=f'[access]\nauthorizers = ["rules"]\n{rule}')
    writer = place.writer("topic", full=True)
    writer.say(Content(1, b"a"), Content(2, b"b"))
    assert writer.heard() == [Reject(2), Confirm(1, multiple=True)]


def test_a_table_is_handed_on_as_it_came() -> None:
    """Octet by octet, whatever is in it, also out of what is kept. (MTL, Field Encodings; reading 32)"""
    place = Place()
    reader, writer = place.reader("topic", b"a"), place.writer("topic", b"a")
    tables = [b"", EVERY, b"no table at all", bytes(range(256))]
    for number, table in enumerate(tables, start=1):
        writer.write(b"x", first=number, properties=table)
    assert [content.properties for content in reader.heard() if isinstance(content, Content)] == tables
    writer.write(b"kept", first=5, properties=EVERY)
    flow = place.flow(b"later")
    flow.lease(place.ready("topic").lease(Reader()))
    assert flow.tell(Summon(1, b"a")) == [Response(1, OK), Content(1, b"a", EVERY, b"kept")]


def test_a_pattern_is_published_to_as_the_bus_has_it() -> None:
    """It reaches each resource that fits it by that resource's own name."""
    place = Place()
    reader = place.reader("topic", b"a/b", b"a/c", b"b/b")
    place.writer("topic").write(b"1", resource=b"a/*")
    assert sorted(reader.contents()) == [(b"a/b", b"1"), (b"a/c", b"1")]


# test


def test_from_all_writers_to_all_readers() -> None:
    """Duplicated, unconfirmed, and under the one name. (MTL, The Test Profile; reading 52)"""
    place = Place()
    readers = [place.reader("test", b"resource", identity=b"r%d" % number) for number in range(3)]
    writers = [place.writer("test", identity=b"w%d" % number) for number in range(2)]
    for writer in writers:
        writer.write(writer.identity)
        assert writer.heard() == []
    for reader in readers:
        assert reader.contents() == [(b"resource", b"w0"), (b"resource", b"w1")]


def test_nothing_is_kept_for_later_readers() -> None:
    """Not even with ``retain``. (MTL, The Test Profile; reading 52)"""
    place = Place()
    place.writer("test").write(b"1", properties=EVERY)
    assert place.reader("test", b"resource").heard() == []


def test_its_resource_is_a_topic_of_the_bus() -> None:
    """In the client's virtual host; others can hear it. (reading 52)"""
    place = Place('virtual-hosts = {home = "house"}')
    bystander = place.bystander()
    bystander.subscribe(b"house/mtl/test")
    reader = place.reader("test", b"resource")
    place.writer("test", b"resource").write(b"1")
    assert (bystander.payloads, reader.contents()) == ([b"1"], [(b"resource", b"1")])


@pytest.mark.parametrize("resource", [b"", b"mtl/test", b"other"])
def test_it_has_no_other(resource: bytes) -> None:
    """(MTL, The Test Profile; reading 20)"""
    flow = both(Place(), "test")
    assert flow.tell(Summon(1, resource), Pong()) == [Response(1, BAD)]
