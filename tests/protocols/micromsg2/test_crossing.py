"""What of a message crosses to the other protocol, and back? MicroMsg2 and FMQP share their topics."""

from __future__ import annotations

from tests.protocols.fmqp.packets import CACHE, LAST_WILL, feedback, publication, subscribe, watch
from tests.protocols.micromsg2.memory_bus import PLAIN, MemoryBus
from tests.protocols.micromsg2.written import message


def test_what_is_published_by_fmqp_is_received_by_micromsg2() -> None:
    """Its topic behind ``topic/``; flags have no place."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/room/*")
    bus.connect_fmqp(publication(b"room/1", b"a"), publication(b"/room/2/", b"b", CACHE), publication(b"other", b"c"))
    assert client.heard() == [message(1, b"topic/room/1", b"a"), message(2, b"topic/room/2", b"b")]


def test_what_is_published_by_micromsg2_is_received_by_fmqp() -> None:
    """Properties have no place; an empty message reaches no FMQP client."""
    bus = MemoryBus()
    subscriber, client = bus.connect_fmqp(subscribe(b"room/*")), bus.connect()
    client.send(b"topic/room/1", b"a", b"", b"b", properties=b"k:v")
    client.send(b"queue/room/1", b"c")
    assert subscriber.heard() == [publication(b"room/1", b"a"), publication(b"room/1", b"b")]


def test_an_empty_message_of_fmqp_reaches_nobody() -> None:
    """FMQP, section Empty messages: whatever the subscribers speak."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/t")
    bus.connect_fmqp(publication(b"t", b""))
    assert client.heard() == []


def test_retained_messages_cross_both_ways() -> None:
    """FMQP's cache flag is the property ``retain``; each can take back what the other has kept."""
    bus = MemoryBus()
    bus.connect_fmqp(publication(b"a", b"1", CACHE))
    producer = bus.connect()
    producer.send(b"topic/b", b"2", properties=b"retain:1")
    late_fmqp, late = bus.connect_fmqp(subscribe(b"*")), bus.connect()
    late.subscribe("topic/*")
    assert late_fmqp.heard() == [publication(b"a", b"1", CACHE), publication(b"b", b"2", CACHE)]
    assert late.heard() == [message(1, b"topic/a", b"1"), message(2, b"topic/b", b"2", b"retain:1")]
    producer.send(b"topic/a", b"", properties=b"retain:1")
    bus.connect_fmqp(publication(b"b", b"", CACHE))
    assert bus.connect_fmqp(subscribe(b"*")).heard() == []


def test_wills_cross_both_ways() -> None:
    """Whoever goes, and whoever listens."""
    bus = MemoryBus()
    fmqp_reader, reader = bus.connect_fmqp(subscribe(b"*")), bus.connect()
    reader.subscribe("topic/*")
    bus.connect_fmqp(publication(b"a", b"1", LAST_WILL)).reset()
    goes = bus.connect()
    goes.send(b"topic/b", b"2", properties=b"will:1")
    goes.reset()
    assert fmqp_reader.heard() == [publication(b"a", b"1", LAST_WILL), publication(b"b", b"2", LAST_WILL)]
    assert reader.payloads() == [b"1", b"2"]


def test_publishers_of_fmqp_learn_of_subscribers_of_micromsg2() -> None:
    """Demand is of all protocols; consumers of queues are none."""
    bus = MemoryBus()
    publisher, client = bus.connect_fmqp(watch(b"room/*")), bus.connect()
    client.subscribe("topic/room/1", "k%3DT1")
    client.subscribe("room/2")
    assert publisher.heard() == [feedback(b"room/1", 1)]
    client.subscribe("topic/room/1")
    assert publisher.heard() == []
    client.unsubscribe("topic/room/1")
    assert publisher.heard() == [feedback(b"room/1", 0)]
    client.subscribe("topic/room/3")
    client.reset()
    assert publisher.heard() == [feedback(b"room/3", 1), feedback(b"room/3", 0)]


def test_filters_look_at_messages_of_fmqp_too() -> None:
    """They have no properties, of which only negations hold (reading 61)."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/a", "k%3DT1")
    client.subscribe("topic/b", "k%21%3DT1")
    bus.connect_fmqp(publication(b"a", b"1"), publication(b"b", b"2"))
    assert client.payloads() == [b"2"]


def test_service_topics_can_be_read_by_micromsg2() -> None:
    """Those of FMQP among them, if FMQP is listened for."""
    bus = MemoryBus()
    client = bus.connect(PLAIN)
    client.subscribe("topic/$/info/uptime")
    bus.wait(1)
    assert client.payloads()[-1] == (1).to_bytes(8, "big")
