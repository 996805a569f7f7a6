"""What becomes of a publication's flags on the way to the subscribers? (FMQP, section Packets format)"""

from __future__ import annotations

import pytest

from fmqbus.testing.bus import MemoryClient
from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import CACHE, FEEDBACK, LAST_WILL, SUBSCRIPTION, packet, publication, subscribe

PUBLICATIONS = [flags for flags in range(256) if not flags & (SUBSCRIPTION | FEEDBACK)]


@pytest.mark.parametrize("flags", PUBLICATIONS)
def test_only_the_cache_and_last_will_bits_are_handed_on(flags: int) -> None:
    """Readings 2, 3 and 16: all others mean nothing in a publication and are written as zero."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"a"))
    bus.connect(packet(flags, b"a", b"x")).close()
    assert subscriber.heard() == [publication(b"a", b"x", flags & (CACHE | LAST_WILL))]


@pytest.mark.parametrize("flags", PUBLICATIONS)
def test_what_is_cached_keeps_the_same_bits_as_the_copy_sent_at_once(flags: int) -> None:
    """Readings 16 and 30."""
    bus = MemoryBus()
    bus.connect(packet(flags, b"a", b"x")).close()
    cached = [publication(b"a", b"x", flags & (CACHE | LAST_WILL))] if flags & CACHE else []
    assert bus.connect(subscribe(b"a")).heard() == cached


def test_topics_are_handed_on_trimmed() -> None:
    """Reading 17: with flags and without, of ordinary topics and of wildcards."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"a/b"))
    bus.connect(*(publication(topic, b"x", flags) for topic in (b"/a/b", b"a/b//", b"//a/*/") for flags in (0, CACHE)))
    assert subscriber.heard() == [
        publication(topic, b"x", flags) for topic in (b"a/b", b"a/b", b"a/*") for flags in (0, CACHE)
    ]


def test_messages_of_other_protocols_arrive_as_publications_without_flags() -> None:
    """Reading 49; what they are to be kept for is told by the cache bit."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"a"))
    foreigner = MemoryClient(bus.router)
    foreigner.publish(b"a", b"1")
    foreigner.publish(b"a", b"2", retain=True)
    foreigner.publish(b"a", b"")
    assert subscriber.heard() == [publication(b"a", b"1"), publication(b"a", b"2", CACHE)]


def test_other_protocols_get_what_is_published_here_without_its_octets() -> None:
    """Reading 49, the other way round: topic, payload, and whether it is kept."""
    bus = MemoryBus()
    foreigner = MemoryClient(bus.router)
    foreigner.subscribe(b"*")
    bus.connect(
        2 * publication(b"a", b"1"), publication(b"/b", b"2", CACHE), publication(b"c", b"3", LAST_WILL)
    ).close()
    assert [(m.topic, m.payload, m.retain, m.will) for m in foreigner.messages] == [
        (b"a", b"1", False, False),
        (b"a", b"1", False, False),
        (b"b", b"2", True, False),
        (b"c", b"3", False, True),
    ]
