"""When is a last will published, and when not? (FMQP, section Last will)"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.protocols.fmqp.memory_bus import Client, MemoryBus
from tests.protocols.fmqp.packets import (
    CACHE,
    FEEDBACK,
    LAST_WILL,
    feedback,
    publication,
    subscribe,
    u64,
    unsubscribe,
    watch,
)

#: A way for a client to go; the last argument are others that stay.
Leave = Callable[[MemoryBus, Client, list[Client]], None]


def will(topic: bytes, body: bytes, flags: int = 0) -> bytes:
    """A last will, and what subscribers get of it."""
    return publication(topic, body, LAST_WILL | flags)


def test_a_will_is_not_published_while_its_client_stays() -> None:
    """FMQP, section Last will."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"status"))
    bus.connect(will(b"status", b"gone"))
    bus.wait(3600)
    assert heir.heard() == []


def close(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """The client closes."""
    testator.close()


def reset(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """The client's machine crashes."""
    testator.reset()


def end_sending(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """The client has said all it will say."""
    testator.end_sending()
    bus.wait()


def fall_silent(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """The client passes the idle limit, and others do not."""
    for _ in range(13):
        bus.wait(1)
        for client in heirs:
            client.say(publication(b"alive", b""))


def fall_silent_without_reading(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """As above, and what is on its way to the client cannot be sent."""
    testator.stop_reading()
    testator.say(subscribe(b"for/me"), publication(b"for/me", b"x"))
    fall_silent(bus, testator, heirs)


def be_thrown_out(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """The broker cuts the client off."""
    for session in bus.router.sessions():
        if session.subscriptions.keys() == {b"victim"}:
            session.kick("for the test")
    bus.wait()


def soft_stop(bus: MemoryBus, testator: Client, heirs: list[Client]) -> None:
    """The broker stops softly."""
    bus.stop()


@pytest.mark.parametrize(
    "leave", [close, reset, end_sending, fall_silent, fall_silent_without_reading, be_thrown_out, soft_stop]
)
def test_a_will_is_published_whichever_way_its_client_goes(leave: Leave) -> None:
    """FMQP, section Last will; reading 27. Once, to all who subscribe."""
    bus = MemoryBus("[limits]\nidle_seconds = 8")
    heirs = [bus.connect(subscribe(b"status")), bus.connect(subscribe(b"*"))]
    testator = bus.connect(subscribe(b"victim"), will(b"status", b"gone"))
    assert [heir.heard() for heir in heirs] == [[], []]
    leave(bus, testator, heirs)
    assert [heir.heard() for heir in heirs] == 2 * [[will(b"status", b"gone")]]
    bus.wait(100)
    assert not testator.is_connected
    assert [heir.heard() for heir in heirs] == [[], []]


def test_a_client_does_not_get_its_own_will() -> None:
    """Reading 32: its subscriptions have ended before."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"status"), will(b"status", b"gone"))
    client.close()
    assert client.heard() == []


def test_a_client_may_have_a_will_for_each_topic() -> None:
    """Reading 28: they are published in the order in which they were first set, the later one of a topic in the place
    of the earlier."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"*"))
    bus.connect(will(b"b", b"1"), will(b"a", b"2"), will(b"c", b"3"), will(b"/b/", b"4")).close()
    assert heir.heard() == [will(b"b", b"4"), will(b"a", b"2"), will(b"c", b"3")]


def test_an_empty_will_removes_the_one_for_its_topic() -> None:
    """Reading 29."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"*"))
    bus.connect(will(b"a", b"1"), will(b"b", b"2"), will(b"a", b""), will(b"never", b"")).close()
    assert heir.heard() == [will(b"b", b"2")]


def test_a_will_with_the_caching_flag_is_cached_when_it_is_published() -> None:
    """Reading 30: not before."""
    bus = MemoryBus()
    heir, testator = bus.connect(subscribe(b"status")), bus.connect(will(b"status", b"gone", CACHE))
    assert bus.connect(subscribe(b"status")).heard() == []
    testator.close()
    assert heir.heard() == [will(b"status", b"gone", CACHE)]
    assert bus.connect(subscribe(b"status")).heard() == [will(b"status", b"gone", CACHE)]


def test_a_will_below_the_dollar_level_is_treated_as_if_published_then() -> None:
    """Reading 31: not forwarded, and a signal is obeyed when the client has gone."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"$/info/nothing"), subscribe(b"$/signals/stop"))
    testator = bus.connect(will(b"$/info/nothing", b"x"), will(b"$/signals/stop", b"x"))
    assert bus.signals == []
    testator.close()
    assert bus.signals == [True]
    assert heir.heard() == []


def test_a_will_in_the_feedback_system_is_discarded_on_arrival() -> None:
    """Reading 31."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"a"), watch(b"a"))
    heir.heard()
    bus.connect(will(b"a", b"x", FEEDBACK)).close()
    assert heir.heard() == []
    assert bus.drops == {"feedback-publication": 1}


@pytest.mark.parametrize("leave", [close, reset])
def test_at_a_disconnect_subscriptions_end_then_wills_are_published_then_clients_are_counted(
    leave: Leave,
) -> None:
    """Readings 32 and 33."""
    bus = MemoryBus()
    observer = bus.connect(watch(b"*"), subscribe(b"$/info/clients"), subscribe(b"status"))
    testator = bus.connect(subscribe(b"a"), subscribe(b"b"), will(b"status", b"gone"))
    observer.heard()
    leave(bus, testator, [])
    assert observer.heard() == [
        feedback(b"a", 0),
        feedback(b"b", 0),
        will(b"status", b"gone"),
        publication(b"$/info/clients", u64(1), CACHE),
    ]


def test_a_will_is_published_under_the_rights_that_its_client_has_at_the_end() -> None:
    """Rights may have been lost since it was set; nothing fails open."""
    bus = MemoryBus('[[access.rules]]\neffect = "deny"\nactions = ["publish"]\nwho = ["*"]\nnames = ["secret/*"]\n')
    heir = bus.connect(subscribe(b"*/*"))
    bus.connect(will(b"secret/a", b"1"), will(b"*/a", b"2"), will(b"open/a", b"3")).close()
    assert heir.heard() == [will(b"open/a", b"3")]


def test_wills_beyond_the_limits_are_discarded_and_the_earlier_ones_stay() -> None:
    """A will is memory held for as long as the client stays."""
    bus = MemoryBus("[limits]\nwills_per_peer = 2\nwills_octets_per_peer = 10")
    heir = bus.connect(subscribe(b"*"))
    bus.connect(
        will(b"a", b"1"), will(b"b", b"2"), will(b"c", b"3"), will(b"a", 10 * b"x"), will(b"a", 9 * b"y")
    ).close()
    assert heir.heard() == [will(b"a", 9 * b"y"), will(b"b", b"2")]
    assert bus.drops == {"overloaded": 2}


def test_unsubscribing_is_not_leaving() -> None:
    """FMQP, section Last will: only the end of the connection publishes it."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"status"))
    bus.connect(subscribe(b"a"), will(b"status", b"gone"), unsubscribe(b"a"))
    assert heir.heard() == []
