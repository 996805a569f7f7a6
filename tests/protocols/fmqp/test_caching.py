"""What does the broker keep for later subscribers? (FMQP, sections Caching and Empty messages)"""

from __future__ import annotations

import pytest

from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import CACHE, LAST_WILL, publication, subscribe


def cached(topic: bytes, body: bytes) -> bytes:
    """A publication that is to be kept."""
    return publication(topic, body, CACHE)


def test_by_default_nothing_is_kept() -> None:
    """FMQP, section Caching."""
    bus = MemoryBus()
    bus.connect(subscribe(b"a"), publication(b"a", b"1"))
    assert bus.connect(subscribe(b"a"), subscribe(b"*")).heard() == []


def test_a_cached_message_is_delivered_now_and_to_later_subscribers() -> None:
    """FMQP, section Caching."""
    bus = MemoryBus()
    now = bus.connect(subscribe(b"a"))
    bus.connect(cached(b"a", b"1")).close()
    assert now.heard() == [cached(b"a", b"1")]
    assert bus.connect(subscribe(b"a")).heard() == [cached(b"a", b"1")]
    assert bus.connect(subscribe(b"/a/")).heard() == [cached(b"a", b"1")]


def test_a_new_subscriber_gets_the_cached_messages_of_all_topics_of_interest() -> None:
    """FMQP, section Caching: those of all equivalent topics, and no others."""
    bus = MemoryBus()
    kept = [cached(b"room/1", b"x"), cached(b"room/2", b"y")]
    bus.connect(*kept, cached(b"hall/1", b"z"), cached(b"room", b"z"), cached(b"room/1/a", b"z"))
    assert bus.connect(subscribe(b"room/*")).heard() == kept


def test_each_topic_keeps_only_the_latest_message() -> None:
    """FMQP, section Caching: one message a topic, which the next one displaces."""
    bus = MemoryBus()
    bus.connect(cached(b"a", b"1"), cached(b"b", b"other"), cached(b"a", b"2"), cached(b"/a", b"3"))
    assert bus.connect(subscribe(b"a")).heard() == [cached(b"a", b"3")]
    assert bus.connect(subscribe(b"b")).heard() == [cached(b"b", b"other")]


def test_cached_messages_come_before_newer_publications() -> None:
    """Reading 21, also where all is said in one segment."""
    bus = MemoryBus()
    bus.connect(cached(b"a", b"old"))
    client = bus.connect(subscribe(b"a"), publication(b"a", b"new"))
    assert client.heard() == [cached(b"a", b"old"), publication(b"a", b"new")]


def test_a_cached_message_of_a_wildcard_topic_is_an_entry_of_its_own() -> None:
    """Reading 22: it matches by equivalence, and displaces nothing."""
    bus = MemoryBus()
    bus.connect(cached(b"a/b", b"literal"), cached(b"a/*", b"star"))
    assert bus.connect(subscribe(b"a/b")).heard() == [cached(b"a/b", b"literal"), cached(b"a/*", b"star")]
    assert bus.connect(subscribe(b"a/c")).heard() == [cached(b"a/*", b"star")]
    bus.connect(cached(b"a/*", b""))
    assert bus.connect(subscribe(b"a/b")).heard() == [cached(b"a/b", b"literal")]


def test_a_publication_without_the_flag_leaves_the_cache_alone() -> None:
    """Reading 23."""
    bus = MemoryBus()
    bus.connect(cached(b"a", b"kept"), publication(b"a", b"passing"), publication(b"a", b""))
    assert bus.connect(subscribe(b"a")).heard() == [cached(b"a", b"kept")]


def test_an_empty_message_with_the_flag_removes_the_cached_one() -> None:
    """Reading 24; nobody gets the empty message."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"a"))
    bus.connect(cached(b"a", b"1"), cached(b"b", b"1"), cached(b"a", b""), cached(b"c", b""))
    assert subscriber.heard() == [cached(b"a", b"1")]
    assert bus.connect(subscribe(b"a")).heard() == []
    assert bus.connect(subscribe(b"b")).heard() == [cached(b"b", b"1")]


@pytest.mark.parametrize("flags", [0, CACHE, LAST_WILL, CACHE | LAST_WILL])
def test_an_empty_message_is_not_forwarded(flags: int) -> None:
    """FMQP, section Empty messages; readings 24, 25 and 29."""
    bus = MemoryBus()
    subscriber, publisher = bus.connect(subscribe(b"a"), subscribe(b"*")), bus.connect()
    publisher.say(publication(b"a", b"", flags))
    publisher.close()
    assert subscriber.heard() == []
    assert bus.drops == {}


def test_an_empty_message_counts_as_received() -> None:
    """Reading 25: it is well formed."""
    bus = MemoryBus()
    bus.connect(publication(b"a", b""), publication(b"a", b"x"), publication(b"a", b""))
    assert bus.router.traffic_of("fmqp").messages_in == 3


def test_an_empty_message_keeps_a_silent_client_from_being_closed() -> None:
    """Reading 25, where an idle limit is set; FMQP has no keep-alive of its own."""
    bus = MemoryBus("[limits]\nidle_seconds = 8")
    silent, alive = bus.connect(), bus.connect()
    for _ in range(10):
        bus.wait(2)
        alive.say(publication(b"a", b""))
    assert not silent.is_connected
    assert alive.is_connected


def test_a_full_cache_refuses_new_topics_and_keeps_what_it_has() -> None:
    """Topics are the peers' to invent, so their number is bounded. What is refused is not delivered either."""
    bus = MemoryBus("[limits]\nretained_topics = 1")
    subscriber = bus.connect(subscribe(b"*"))
    bus.connect(cached(b"a", b"1"), cached(b"b", b"2"), cached(b"a", b"3"), publication(b"b", b"4"))
    assert subscriber.heard() == [cached(b"a", b"1"), cached(b"a", b"3"), publication(b"b", b"4")]
    assert bus.connect(subscribe(b"*")).heard() == [cached(b"a", b"3")]
    assert bus.drops == {"overloaded": 1}
