"""How do publishers learn who listens? (FMQP, sections Feedback topics and Debugging messages)"""

from __future__ import annotations

import pytest

from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import (
    CACHE,
    DEBUG,
    FEEDBACK,
    LAST_WILL,
    SUBSCRIPTION,
    UNSUBSCRIBE,
    feedback,
    packet,
    publication,
    subscribe,
    unsubscribe,
    unwatch,
    watch,
)


def test_every_subscription_and_its_end_are_told_under_the_same_topic() -> None:
    """FMQP, section Feedback topics; readings 34 and 38."""
    bus = MemoryBus()
    publisher, subscriber = bus.connect(watch(b"room/temp")), bus.connect()
    subscriber.say(subscribe(b"room/temp"))
    assert publisher.heard() == [packet(FEEDBACK, b"room/temp", b"\0\0\0\0\0\0\0\1")]
    subscriber.say(unsubscribe(b"room/temp"))
    assert publisher.heard() == [packet(FEEDBACK, b"room/temp", b"")]


def test_feedback_tells_how_many_listen_and_is_empty_only_when_the_last_has_gone() -> None:
    """Readings 34 and 35: one message for each change."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"a"))
    one, two = bus.connect(subscribe(b"a")), bus.connect(subscribe(b"a"))
    two.say(unsubscribe(b"a"))
    one.say(unsubscribe(b"a"))
    assert publisher.heard() == [feedback(b"a", 1), feedback(b"a", 2), feedback(b"a", 1), feedback(b"a", 0)]


def test_the_broker_may_send_empty_messages() -> None:
    """Reading 26: the rule about empty messages is one for those of clients."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"a"), subscribe(b"a"), unsubscribe(b"a"))
    assert publisher.heard()[-1] == packet(FEEDBACK, b"a")


def test_a_connection_that_ends_takes_its_subscriptions_out_of_the_feedback() -> None:
    """Reading 33: publishers would go on to work for nobody."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"*"))
    subscriber = bus.connect(subscribe(b"a"), subscribe(b"b"))
    publisher.heard()
    subscriber.reset()
    assert publisher.heard() == [feedback(b"a", 0), feedback(b"b", 0)]


def test_feedback_is_cached_for_publishers_that_come_later() -> None:
    """FMQP, section Feedback topics; reading 36: the present number, and nothing once the last has gone."""
    bus = MemoryBus()
    one, two = bus.connect(subscribe(b"a")), bus.connect(subscribe(b"a"))
    assert bus.connect(watch(b"a")).heard() == [feedback(b"a", 2)]
    two.close()
    assert bus.connect(watch(b"a"), watch(b"a")).heard() == 2 * [feedback(b"a", 1)]
    one.say(unsubscribe(b"a"))
    assert bus.connect(watch(b"a")).heard() == []


def test_feedback_has_the_subscriptions_own_topic_and_comes_by_equivalence() -> None:
    """Reading 37: a publisher of ``room/temp`` learns of ``room/*`` as such."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"room/temp"))
    others = [bus.connect(watch(pattern)) for pattern in (b"room/light", b"room", b"*")]
    subscriber = bus.connect(subscribe(b"room/*"), subscribe(b"room/temp"), subscribe(b"/*/temp/"))
    assert publisher.heard() == [feedback(b"room/*", 1), feedback(b"room/temp", 1), feedback(b"*/temp", 1)]
    assert [other.heard() for other in others] == [[feedback(b"room/*", 1)], [], []]
    assert bus.connect(watch(b"room/light")).heard() == [feedback(b"room/*", 1)]
    subscriber.say(unsubscribe(b"room/*"))
    assert publisher.heard() == [feedback(b"room/*", 0)]


def test_a_change_is_told_once_however_many_of_a_clients_watches_match() -> None:
    """Reading 37, as reading 14 has it for messages."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"a/b"), watch(b"a/*"), watch(b"*/*"))
    bus.connect(subscribe(b"a/b"))
    assert publisher.heard() == [feedback(b"a/b", 1)]


def test_watching_and_subscribing_are_apart() -> None:
    """Reading 38: a watch brings no messages, a subscription no feedback, and neither ends the other."""
    bus = MemoryBus()
    watcher, subscriber = bus.connect(watch(b"a")), bus.connect(subscribe(b"a"))
    bus.connect(publication(b"a", b"1"))
    assert watcher.heard() == [feedback(b"a", 1)]
    assert subscriber.heard() == [publication(b"a", b"1")]
    watcher.say(unsubscribe(b"a"))
    subscriber.say(unwatch(b"a"), publication(b"a", b"2"))
    assert subscriber.heard() == [publication(b"a", b"2")]
    subscriber.say(unsubscribe(b"a"))
    assert watcher.heard() == [feedback(b"a", 0)]


def test_watching_makes_no_feedback_of_its_own() -> None:
    """Reading 38."""
    bus = MemoryBus()
    watcher = bus.connect(watch(b"a"))
    other = bus.connect(watch(b"a"), watch(b"*"), unwatch(b"a"))
    other.close()
    assert watcher.heard() == []
    assert bus.connect(watch(b"a")).heard() == []


def test_a_watch_that_has_ended_brings_no_more() -> None:
    """Reading 38: ended by exactly its topic; a second end does nothing."""
    bus = MemoryBus()
    watcher = bus.connect(watch(b"a"), unwatch(b"*"))
    subscriber = bus.connect(subscribe(b"a"))
    assert watcher.heard() == [feedback(b"a", 1)]
    watcher.say(unwatch(b"/a"), unwatch(b"a"))
    subscriber.close()
    assert watcher.heard() == []
    assert bus.drops == {}


def test_a_client_may_watch_its_own_subscriptions() -> None:
    """FMQP, section Feedback topics says any of the clients."""
    bus = MemoryBus()
    client = bus.connect(watch(b"a"), subscribe(b"a"))
    assert client.heard() == [feedback(b"a", 1)]


def test_feedback_comes_in_order_with_messages() -> None:
    """FMQP, section Feedback topics: a publisher sees a subscriber before what that subscriber says later."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"a"), subscribe(b"hello"))
    bus.connect(subscribe(b"a"), publication(b"hello", b"1"), unsubscribe(b"a"), publication(b"hello", b"2"))
    assert publisher.heard() == [
        feedback(b"a", 1),
        publication(b"hello", b"1"),
        feedback(b"a", 0),
        publication(b"hello", b"2"),
    ]


@pytest.mark.parametrize("flags", [0, CACHE, LAST_WILL, DEBUG, UNSUBSCRIBE, 0x03])
@pytest.mark.parametrize("body", [b"", b"\0\0\0\0\0\0\0\1"])
def test_what_a_client_publishes_in_the_feedback_system_is_discarded(flags: int, body: bytes) -> None:
    """FMQP, section Feedback topics; readings 6 and 31. Nothing reaches anybody, is cached, or is published later."""
    bus = MemoryBus()
    watcher = bus.connect(watch(b"a"))
    subscriber = bus.connect(subscribe(b"a"))
    watcher.heard()
    forger = bus.connect(packet(FEEDBACK | flags, b"a", body))
    assert forger.is_connected
    forger.close()
    assert watcher.heard() == []
    assert subscriber.heard() == []
    assert bus.connect(watch(b"a")).heard() == [feedback(b"a", 1)]
    assert bus.drops == {"feedback-publication": 1}
    assert bus.router.traffic_of("fmqp").messages_in == 3


@pytest.mark.parametrize("flags", [DEBUG, LAST_WILL, CACHE, DEBUG | LAST_WILL | CACHE | 0x03])
def test_flags_without_sense_in_the_feedback_system_are_ignored(flags: int) -> None:
    """Reading 3."""
    bus = MemoryBus()
    watcher = bus.connect(packet(SUBSCRIPTION | FEEDBACK | flags, b"a", b"junk"))
    subscriber = bus.connect(subscribe(b"a"))
    assert watcher.heard() == [feedback(b"a", 1)]
    watcher.say(packet(SUBSCRIPTION | FEEDBACK | UNSUBSCRIBE | flags, b"a"))
    subscriber.close()
    assert watcher.heard() == []


def test_a_debug_subscription_works_and_is_not_told() -> None:
    """FMQP, section Debugging messages: neither when it begins nor when it ends, nor to publishers that come later."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"a"))
    debugger = bus.connect(subscribe(b"a", DEBUG))
    publisher.say(publication(b"a", b"1"))
    assert debugger.heard() == [publication(b"a", b"1")]
    assert bus.connect(watch(b"a")).heard() == []
    debugger.say(unsubscribe(b"a"))
    assert publisher.heard() == []


def test_a_debug_subscription_gets_the_cached_messages_too() -> None:
    """FMQP, section Debugging messages hides it from publishers, and nothing from it."""
    bus = MemoryBus()
    bus.connect(publication(b"a", b"1", CACHE))
    assert bus.connect(subscribe(b"a", DEBUG)).heard() == [publication(b"a", b"1", CACHE)]


def test_a_debug_subscription_does_not_count_beside_others() -> None:
    """Reading 34."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"a"))
    debugger, subscriber = bus.connect(subscribe(b"a", DEBUG)), bus.connect(subscribe(b"a"))
    assert publisher.heard() == [feedback(b"a", 1)]
    subscriber.close()
    assert publisher.heard() == [feedback(b"a", 0)]
    debugger.close()
    assert publisher.heard() == []


def test_the_debug_flag_of_an_unsubscription_means_nothing() -> None:
    """Reading 39: whether its end is told was decided when the subscription was made."""
    bus = MemoryBus()
    publisher = bus.connect(watch(b"*"))
    client = bus.connect(subscribe(b"told"), subscribe(b"quiet", DEBUG))
    client.say(unsubscribe(b"told", DEBUG), unsubscribe(b"quiet"))
    assert publisher.heard() == [feedback(b"told", 1), feedback(b"told", 0)]


def test_subscriptions_below_the_dollar_level_have_feedback_too() -> None:
    """Reading 48: they are in the regular topic system."""
    bus = MemoryBus()
    watcher = bus.connect(watch(b"$/info/clients"), watch(b"*/*/*"))
    client = bus.connect(subscribe(b"$/info/clients"))
    client.say(unsubscribe(b"$/info/clients"))
    assert watcher.heard() == [feedback(b"$/info/clients", 1), feedback(b"$/info/clients", 0)]


def test_watches_beyond_the_limit_are_discarded() -> None:
    """Each subscription of others is matched with every watch."""
    bus = MemoryBus("[limits]\nwatches_per_peer = 1")
    client = bus.connect(watch(b"a"), watch(b"b"), watch(b"a"), subscribe(b"b"), subscribe(b"a"))
    assert client.heard() == [feedback(b"a", 1)]
    assert bus.drops == {"overloaded": 1}
