"""What is a topic, which are equivalent, and who then gets a message? (FMQP, sections Topics and Message routing)"""

from __future__ import annotations

import pytest

from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import packet, publication, subscribe

LEVELS = b"home/living-space/living-room1/temperature"


def reaches(topic: bytes, pattern: bytes) -> bool:
    """Whether a publication under the topic gets to a subscriber of the pattern, on a bus of their own."""
    bus = MemoryBus()
    publisher, subscriber = bus.connect(), bus.connect(subscribe(pattern))
    subscriber.heard()  # what the broker itself tells patterns of stars, see test_service_topics.py
    publisher.say(publication(topic, b"x"))
    heard = subscriber.heard()
    assert heard in ([], [publication(topic.strip(b"/"), b"x")])
    return bool(heard)


@pytest.mark.parametrize("topic", [LEVELS, LEVELS + b"/", b"/" + LEVELS, b"/" + LEVELS + b"/", b"/home/", b"home/"])
def test_outer_slashes_mean_nothing(topic: bytes) -> None:
    """FMQP, section Topics; they may stand in the publication, in the subscription, or in both."""
    trimmed = topic.strip(b"/")
    assert reaches(topic, trimmed)
    assert reaches(trimmed, topic)
    assert reaches(topic, b"/" + topic)


def test_all_outer_slashes_are_trimmed_however_many() -> None:
    """Readings 9 and 17: what is handed on carries the trimmed topic."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"//room/temp/"))
    bus.connect(publication(b"///room/temp////", b"1"))
    assert subscriber.heard() == [publication(b"room/temp", b"1")]


@pytest.mark.parametrize("topic", [b"", b"/", b"////////////////////"])
def test_a_topic_without_any_level_is_incorrect(topic: bytes) -> None:
    """FMQP, section Topics; reading 6. The packet is counted as discarded and the connection stays."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"*"), publication(topic, b"x"), subscribe(topic), publication(b"a", b"after"))
    assert client.heard() == [publication(b"a", b"after")]
    assert bus.drops == {"topic-empty": 2}


@pytest.mark.parametrize("topic", [b"a\0b", b"\0", b"room/\0", b"\0/room"])
def test_nul_is_not_allowed_anywhere(topic: bytes) -> None:
    """FMQP, section Topics; reading 7."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"*"), subscribe(b"*/*"), publication(topic, b"x"), subscribe(topic))
    assert client.heard() == []
    assert bus.drops == {"topic-nul": 2}


def test_lengths_count_no_terminator() -> None:
    """FMQP, section Topics; reading 7. What follows a topic is its body, whatever octet that begins with."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a"), publication(b"a", b"\0body"))
    assert client.heard() == [publication(b"a", b"\0body")]


@pytest.mark.parametrize(
    "topic", [b"a", b"/" + 253 * b"a" + b"/", 255 * b"a", b"/".join(128 * [b"a"]), 127 * "ж".encode()]
)
def test_a_topic_may_have_up_to_255_octets(topic: bytes) -> None:
    """FMQP, section Topics. The length is in octets, not in characters, and its field cannot say more."""
    assert reaches(topic, topic)


@pytest.mark.parametrize(
    "topic", [b"\xff", b"room/\xc3", b"\xc3/\xa9", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"]
)
def test_a_topic_that_is_not_utf_8_is_incorrect(topic: bytes) -> None:
    """FMQP, section Topics; readings 6 and 8. Surrogates, overlong forms and what lies past U+10FFFF are not UTF-8."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"*"), subscribe(b"*/*"), publication(topic, b"x"), subscribe(topic))
    assert client.heard() == []
    assert bus.drops == {"topic-utf8": 2}


def test_topics_are_compared_octet_by_octet() -> None:
    """Reading 8: capitals are other letters, and two ways to write an accent are two topics."""
    assert reaches("дом/свет".encode(), "дом/свет".encode())
    assert not reaches(b"Room", b"room")
    assert not reaches("caf\u00e9".encode(), "cafe\u0301".encode())
    assert not reaches(b"room ", b"room")


@pytest.mark.parametrize("topic", [b"a/b", b"a//", b"a/b/c", b"a/", b"//b"])
def test_an_inner_empty_level_is_a_level(topic: bytes) -> None:
    """Reading 10: ``a//b`` has three levels, the middle one empty."""
    assert not reaches(topic, b"a//b")
    assert not reaches(b"a//b", topic)


def test_an_inner_empty_level_is_equivalent_to_itself_and_to_a_star() -> None:
    """Reading 10."""
    assert reaches(b"a//b", b"a//b")
    assert reaches(b"a//b", b"a/*/b")
    assert reaches(b"a/*/b", b"a//b")
    assert not reaches(b"a//b", b"a/*")


EQUIVALENT = [
    LEVELS,
    b"home/living-space/living-room1/*",
    b"home/living-space/*/temperature",
    b"home/*/living-room1/temperature",
    b"*/living-space/living-room1/temperature",
    b"*/*/*/*",
]


@pytest.mark.parametrize("pattern", EQUIVALENT)
@pytest.mark.parametrize("topic", EQUIVALENT)
def test_equivalent_topics_reach_each_other(topic: bytes, pattern: bytes) -> None:
    """FMQP, section Equivalence of topics; reading 12: a star counts in the publication as in the subscription."""
    assert reaches(topic, pattern)


@pytest.mark.parametrize(
    ("topic", "pattern"),
    [
        (b"room/temp", b"room"),
        (b"room", b"room/*"),
        (b"room/a/b", b"room/*"),
        (b"room/*", b"room"),
        (b"*", b"a/b"),
        (b"a/b", b"*"),
        (b"a/*/c", b"a/b/d"),
        (b"*/b", b"a/c"),
    ],
)
def test_topics_with_other_levels_or_another_number_of_them_are_not_equivalent(topic: bytes, pattern: bytes) -> None:
    """FMQP, section Equivalence of topics; reading 11: a star is one level, no more and no less."""
    assert not reaches(topic, pattern)
    assert not reaches(pattern, topic)


@pytest.mark.parametrize("pattern", [b"ro*m", b"room*", b"*room", b"**", b"+", b"#", b"?"])
def test_a_star_within_a_level_is_a_letter(pattern: bytes) -> None:
    """Reading 11: only a whole level is a wildcard, there is none for many levels, and other signs mean nothing."""
    assert not reaches(b"room", pattern)
    assert not reaches(pattern, b"room")
    assert reaches(pattern, pattern)


def test_a_topic_of_stars_is_equivalent_to_every_topic_of_as_many_levels() -> None:
    """FMQP, section Equivalence of topics; reading 13."""
    assert reaches(b"a", b"*")
    assert reaches(b"*", b"a")
    assert reaches(b"*", b"*")
    assert reaches(b"*/*/*/*", b"a/b/c/d")


def test_equivalence_is_not_transitive() -> None:
    """Reading 12: ``a`` and ``b`` are both equivalent to ``*``, yet a message for one does not reach the other."""
    bus = MemoryBus()
    a, b, star = bus.connect(subscribe(b"a")), bus.connect(subscribe(b"b")), bus.connect(subscribe(b"*"))
    bus.connect(publication(b"a", b"1"), publication(b"*", b"2"), publication(b"b", b"3"))
    assert a.heard() == [publication(b"a", b"1"), publication(b"*", b"2")]
    assert b.heard() == [publication(b"*", b"2"), publication(b"b", b"3")]
    assert star.heard() == [publication(b"a", b"1"), publication(b"*", b"2"), publication(b"b", b"3")]


def test_a_message_goes_to_every_client_with_an_equivalent_subscription_and_to_nobody_else() -> None:
    """FMQP, section Message routing."""
    bus = MemoryBus()
    listeners = [bus.connect(subscribe(pattern)) for pattern in (b"room/temp", b"room/*", b"*/temp", b"*/*")]
    others = [bus.connect(subscribe(pattern)) for pattern in (b"room", b"*", b"hall/*", b"*/light", b"room/temp/1")]
    nobody = bus.connect()
    bus.connect(publication(b"room/temp", b"21.5"))
    assert [client.heard() for client in listeners] == 4 * [[publication(b"room/temp", b"21.5")]]
    assert [client.heard() for client in (*others, nobody)] == 6 * [[]]


@pytest.mark.parametrize("topic", [b"a/b", b"*/b"])
def test_a_client_gets_one_copy_however_many_of_its_subscriptions_match(topic: bytes) -> None:
    """Reading 14."""
    bus = MemoryBus()
    client = bus.connect(*map(subscribe, [b"a/b", b"a/*", b"*/b", b"*/*"]), publication(topic, b"once"))
    assert client.heard() == [publication(topic, b"once")]


def test_a_publisher_that_subscribes_gets_its_own_messages() -> None:
    """FMQP, section Interaction between the client and the broker: one client may be both; reading 15."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a"), publication(b"a", b"mine"))
    assert client.heard() == [publication(b"a", b"mine")]


def test_messages_come_in_the_order_in_which_they_were_published() -> None:
    """FMQP, section Message routing: over the topics of one publisher, whatever their sizes and flags."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"*"), subscribe(b"*/*"))
    said = [
        packet(4 * (number % 7 == 0), topic, number * b"x")
        for number in range(1, 40)
        for topic in (b"a", b"b/c", b"*", b"d/*")
    ]
    bus.connect(*said)
    assert subscriber.heard() == said
