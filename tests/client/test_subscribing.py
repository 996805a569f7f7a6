"""`fmqbus.client.subscription`: who gets which message, and what the bus is told."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from fmqbus.client.events import Message
from fmqbus.errors import InvalidName
from fmqbus.protocols.fmqp.codec import (
    CACHE,
    DEBUG,
    FEEDBACK,
    LAST_WILL,
    SUBSCRIPTION,
    UNSUBSCRIBE,
    Packet,
    encode,
)
from tests.client.conftest import MakeBus
from tests.client.memory_bus import MemoryBus

SUBSCRIBED = Packet(SUBSCRIPTION, b"room/*")
HIDDEN = Packet(SUBSCRIPTION | DEBUG, b"room/*")
UNSUBSCRIBED = Packet(SUBSCRIPTION | UNSUBSCRIBE, b"room/*")


def test_messages_come_by_iteration_until_the_client_stops(bus: MemoryBus) -> None:
    """Flags and topic are told, outer slashes gone."""
    got: list[Message] = []

    async def collect() -> None:
        async for message in bus.client.subscribe("room/*"):
            got.append(message)

    collecting = Deferred.fromCoroutine(collect())
    connection = bus.start()
    connection.say(
        encode(0, b"room/temp", b"1"),
        encode(0, b"hall/temp", b"2"),
        encode(CACHE, b"/room/temp/", b"3"),
        encode(LAST_WILL, "room/ü".encode(), b"4"),
        encode(0, b"//room/door", b"5"),
    )
    assert got == [
        Message("room/temp", b"1"),
        Message("room/temp", b"3", retained=True),
        Message("room/ü", b"4", will=True),
        Message("room/door", b"5"),
    ]
    assert not collecting.called
    bus.client.stopService()
    assert collecting.called


def test_each_subscription_that_fits_gets_its_own_copy(bus: MemoryBus) -> None:
    """The bus sends one copy however many patterns match; overlapping subscriptions must not lose it."""
    wide: list[Message] = []
    exact: list[Message] = []
    both: list[Message] = []
    bus.client.subscribe("room/*", callback=wide.append)
    bus.client.subscribe("room/temp", callback=exact.append)
    bus.client.subscribe("room/*", "*/temp", callback=both.append)
    bus.start().say(encode(0, b"room/temp", b"1"), encode(0, b"room/door", b"2"))
    assert [m.payload for m in wide] == [b"1", b"2"]
    assert [m.payload for m in exact] == [b"1"]
    assert [m.payload for m in both] == [b"1", b"2"]


def test_the_bus_is_told_of_the_last_to_leave_only(bus: MemoryBus) -> None:
    """There is one subscription on the wire for each pattern. Each new one is said, for the messages that are kept."""
    connection = bus.start()
    first, second = bus.client.subscribe("room/*"), bus.client.subscribe("/room/*")
    first.stop()
    first.stop()
    assert connection.heard() == [SUBSCRIBED, SUBSCRIBED]
    second.stop()
    assert connection.heard() == [UNSUBSCRIBED]


def test_a_pattern_is_hidden_while_all_who_want_it_hide(bus: MemoryBus) -> None:
    """The last subscription decides at the bus (reading 20)."""
    connection = bus.start()
    bus.client.subscribe("room/*", debug=True)
    open_one = bus.client.subscribe("room/*")
    bus.client.subscribe("room/*", debug=True)
    assert connection.heard() == [HIDDEN, SUBSCRIBED, SUBSCRIBED]
    open_one.stop()
    assert connection.heard() == [HIDDEN]


def test_subscriptions_are_said_again_on_a_new_connection(bus: MemoryBus) -> None:
    """Those that have ended are not."""
    connection = bus.start()
    bus.client.subscribe("hall/*").stop()
    got: list[Message] = []
    bus.client.subscribe("room/*", callback=got.append)
    connection.break_off()
    connection = bus.come_back()
    assert connection.heard() == [SUBSCRIBED]
    connection.say(encode(0, b"room/temp", b"1"))
    assert len(got) == 1


def test_leaving_a_with_block_unsubscribes(bus: MemoryBus) -> None:
    """Even by an error."""
    connection = bus.start()
    with pytest.raises(RuntimeError), bus.client.subscribe("room/*"):
        raise RuntimeError
    assert connection.heard() == [SUBSCRIBED, UNSUBSCRIBED]


def test_a_callback_may_stop_its_subscription_in_the_middle_of_a_read(bus: MemoryBus) -> None:
    """What comes after it in the same read is not for it any more."""
    got: list[Message] = []

    def once(message: Message) -> None:
        got.append(message)
        subscription.stop()

    subscription = bus.client.subscribe("a", callback=once)
    bus.start().say(encode(0, b"a", b"1"), encode(0, b"a", b"2"), encode(CACHE, b"a", b"3"), encode(0, b"a", b"4"))
    assert [m.payload for m in got] == [b"1"]


def test_a_callback_may_subscribe_in_the_middle_of_a_read(bus: MemoryBus) -> None:
    """The topics known so far are forgotten while the decoder is at work, and it does not mind."""
    got: list[Message] = []
    bus.client.subscribe("a", callback=lambda _: bus.client.subscribe("b", callback=got.append))
    connection = bus.start()
    connection.say(encode(0, b"a", b"1"), encode(CACHE, b"x", b"2"), encode(0, b"b", b"3"))
    assert [m.payload for m in got] == [b"3"]


def test_incorrect_packets_are_dropped_and_counted(bus: MemoryBus) -> None:
    """FMQP, section Processing of incorrect messages. The connection goes on."""
    got: list[Message] = []
    bus.client.subscribe("a", callback=got.append)
    connection = bus.start()
    connection.say(
        encode(0, b"", b"x"),
        encode(0, b"///", b"x"),
        encode(0, b"a\xff", b"x"),
        encode(0, b"a\0", b"x"),
        encode(SUBSCRIPTION, b"a"),
        encode(SUBSCRIPTION | FEEDBACK, b"a"),
        encode(0, b"a", b"good"),
    )
    assert bus.client.invalid == 6
    assert [m.payload for m in got] == [b"good"]


def test_too_large_a_message_is_skipped_and_counted(make_bus: MakeBus) -> None:
    """However it is cut; the next one arrives."""
    bus = make_bus(body_octets=3)
    got: list[Message] = []
    bus.client.subscribe("a", callback=got.append)
    connection = bus.start()
    for octet in encode(0, b"a", b"four") + encode(0, b"a", b"abc"):
        connection.say(bytes([octet]))
    assert bus.client.oversize == 1
    assert [m.payload for m in got] == [b"abc"]


def test_the_cache_of_topics_is_bounded(make_bus: MakeBus) -> None:
    """Topics are the peers' to invent."""
    bus = make_bus(cached_routes=10)
    got: list[Message] = []
    bus.client.subscribe("a/*", callback=got.append)
    bus.start().say(*(encode(0, b"a/%d" % number, b"x") for number in range(100)))
    assert len(got) == 100
    assert len(bus.client.subscriptions) <= 10


def test_a_wrong_pattern_is_refused(bus: MemoryBus) -> None:
    """And leaves nothing behind."""
    with pytest.raises(InvalidName):
        bus.client.subscribe("room", "//")
    assert bus.start().heard() == []
