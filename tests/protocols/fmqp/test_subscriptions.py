"""How do subscriptions begin and end? (FMQP, section Interaction between the client and the broker)"""

from __future__ import annotations

import pytest

from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import (
    CACHE,
    DEBUG,
    LAST_WILL,
    SUBSCRIPTION,
    UNNAMED,
    feedback,
    packet,
    publication,
    subscribe,
    unsubscribe,
    watch,
)


def test_an_unsubscribed_client_gets_no_more() -> None:
    """FMQP, section Interaction between the client and the broker."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a"), publication(b"a", b"1"), unsubscribe(b"a"), publication(b"a", b"2"))
    assert client.heard() == [publication(b"a", b"1")]


def test_unsubscribing_ends_exactly_the_named_subscription() -> None:
    """Reading 18: an equivalent pattern is another subscription."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a"), unsubscribe(b"*"), publication(b"a", b"1"))
    assert client.heard() == [publication(b"a", b"1")]
    client.say(subscribe(b"*"), unsubscribe(b"a"), publication(b"a", b"2"))
    assert client.heard() == [publication(b"a", b"2")]


def test_unsubscribing_takes_the_trimmed_topic() -> None:
    """Reading 18; FMQP, section Topics."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a"), unsubscribe(b"//a/"), publication(b"a", b"1"))
    assert client.heard() == []


def test_unsubscribing_from_what_was_never_subscribed_does_nothing() -> None:
    """Reading 19: no feedback, and nobody else's subscription ends."""
    bus = MemoryBus()
    watcher, other = bus.connect(watch(b"*")), bus.connect(subscribe(b"a"))
    assert watcher.heard() == [feedback(b"a", 1)]
    client = bus.connect(unsubscribe(b"a"), unsubscribe(b"b"), publication(b"a", b"1"))
    assert watcher.heard() == []
    assert client.heard() == []
    assert other.heard() == [publication(b"a", b"1")]
    assert bus.drops == {}


def test_subscribing_again_changes_nothing() -> None:
    """Reading 20: one copy, no feedback, and one unsubscription ends it."""
    bus = MemoryBus()
    watcher = bus.connect(watch(b"a"))
    client = bus.connect(subscribe(b"a"), subscribe(b"/a"), subscribe(b"a"), publication(b"a", b"1"))
    assert client.heard() == [publication(b"a", b"1")]
    assert watcher.heard() == [feedback(b"a", 1)]
    client.say(unsubscribe(b"a"), publication(b"a", b"2"))
    assert client.heard() == []
    assert watcher.heard() == [feedback(b"a", 0)]


def test_subscribing_again_brings_the_cached_messages_again() -> None:
    """Readings 20 and 21: every subscription packet does."""
    bus = MemoryBus()
    kept = publication(b"a", b"kept", CACHE)
    bus.connect(kept)
    client = bus.connect(subscribe(b"a"), subscribe(b"a"))
    assert client.heard() == [kept, kept]


def test_the_last_subscription_packet_decides_on_debugging() -> None:
    """Reading 20: a subscription may be hidden from feedback later, and come out again."""
    bus = MemoryBus()
    watcher = bus.connect(watch(b"a"))
    client = bus.connect(subscribe(b"a"))
    client.say(subscribe(b"a", DEBUG))
    client.say(subscribe(b"a", DEBUG))
    client.say(subscribe(b"a"))
    assert watcher.heard() == [feedback(b"a", 1), feedback(b"a", 0), feedback(b"a", 1)]


def test_the_body_of_a_subscription_is_read_and_ignored() -> None:
    """Reading 4."""
    bus = MemoryBus()
    client = bus.connect(packet(SUBSCRIPTION, b"a", b"junk"), publication(b"a", b"1"))
    assert client.heard() == [publication(b"a", b"1")]
    client.say(packet(SUBSCRIPTION | 0x40, b"a", b"junk"), publication(b"a", b"2"))
    assert client.heard() == []


@pytest.mark.parametrize("flags", [CACHE, LAST_WILL, CACHE | LAST_WILL, UNNAMED])
def test_flags_without_sense_in_a_subscription_are_ignored(flags: int) -> None:
    """Readings 2 and 3."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a", flags), publication(b"a", b"1"))
    assert client.heard() == [publication(b"a", b"1")]
    client.say(unsubscribe(b"a", flags), publication(b"a", b"2"))
    assert client.heard() == []
    client.close()
    assert bus.connect(subscribe(b"a")).heard() == []


def test_a_connection_that_has_gone_gets_nothing_and_its_subscriptions_are_forgotten() -> None:
    """FMQP, section Message routing speaks of connected clients."""
    bus = MemoryBus()
    client, other = bus.connect(subscribe(b"a"), subscribe(b"*")), bus.connect(subscribe(b"a"))
    client.close()
    bus.connect(publication(b"a", b"1"))
    assert other.heard() == [publication(b"a", b"1")]
    assert client.heard() == []
    assert bus.router.subscriptions == 1


def test_subscriptions_beyond_the_limits_are_discarded_and_the_others_stay() -> None:
    """No peer can spend the memory of others; FMQP has no word to tell it."""
    bus = MemoryBus("[limits]\nsubscriptions_per_peer = 2\nwildcards_per_peer = 1")
    client = bus.connect(subscribe(b"*"), subscribe(b"*/*"), subscribe(b"a/a"), subscribe(b"b/b"), subscribe(b"a/a"))
    client.say(publication(b"a", b"1"), publication(b"a/a", b"2"), publication(b"b/b", b"3"))
    assert client.heard() == [publication(b"a", b"1"), publication(b"a/a", b"2")]
    assert bus.drops == {"overloaded": 2}
    assert client.is_connected
