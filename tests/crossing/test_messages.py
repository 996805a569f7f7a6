"""Messages on topics, from each protocol to each other one."""

from __future__ import annotations

import pytest

from fmqbus.limits import MIB
from tests.crossing.conftest import PROTOCOLS, Join
from tests.crossing.fmqp import FMQP
from tests.crossing.speakers import Heard, Speaker

Pair = tuple[Speaker, Speaker]


def said(heard: list[Heard]) -> list[tuple[bytes, bytes]]:
    """Topics and payloads: what arrives everywhere."""
    return [(message.topic, message.payload) for message in heard]


def test_topic_and_payload_arrive_octet_by_octet(pair: Pair, topic: bytes) -> None:
    """The payload may be anything, the topic any UTF-8."""
    speaker, listener = pair
    name, payload = topic + "/ä/ /a*b/;,=".encode(), bytes(range(256))
    listener.subscribe(name)
    speaker.publish(name, payload)
    assert listener.heard() == [Heard(name, payload)]


def test_outer_slashes_mean_nothing(pair: Pair, topic: bytes) -> None:
    """On either side; topics arrive without them. To whoever listens by how a topic begins they are octets."""
    speaker, listener = pair
    listener.subscribe(b"/" + topic + b"//" if listener.has_levels else topic)
    speaker.publish(b"//" + topic + b"/", b"1")
    assert listener.heard() == [Heard(topic, b"1")]


def test_a_star_is_any_one_level_on_either_side(pair: Pair, topic: bytes) -> None:
    """Also in what is published, which then arrives with its star. Whoever listens by how a topic begins hears what
    begins so, and no more."""
    speaker, listener = pair
    listener.subscribe(topic + (b"/*/c" if listener.has_levels else b"/b/*"))
    for name in (b"/b/c", b"/b/d", b"/b/b/c", b"/*/*"):
        speaker.publish(topic + name, name)
    fitting = (b"/b/c", b"/*/*") if listener.has_levels else (b"/b/c", b"/b/d", b"/b/b/c")
    assert listener.heard() == [Heard(topic + name, name) for name in fitting]


def test_one_copy_comes_however_many_subscriptions_fit(pair: Pair, topic: bytes) -> None:
    """Or one for each where the protocol tells them apart; and none once they have ended."""
    speaker, listener = pair
    for pattern in (topic + b"/a", topic + b"/*"):
        listener.subscribe(pattern)
    speaker.publish(topic + b"/a", b"1")
    assert listener.heard() == [Heard(topic + b"/a", b"1")] * (2 if listener.has_copies else 1)
    for pattern in (topic + b"/a", topic + b"/*"):
        listener.unsubscribe(pattern)
    speaker.publish(topic + b"/a", b"2")
    assert listener.heard() == []


def test_messages_arrive_in_the_order_in_which_they_were_published(pair: Pair, topic: bytes) -> None:
    """Over several topics and sizes."""
    speaker, listener = pair
    messages = [(topic + b"/%d" % (number % 3), b"%d" % number + bytes(number * 7 % 400)) for number in range(300)]
    listener.subscribe(topic + b"/*")
    for name, payload in messages:
        speaker.publish(name, payload)
    assert said(listener.heard()) == messages


def test_a_large_message_arrives_whole(pair: Pair, topic: bytes) -> None:
    """One that is a single packet here may be several frames there."""
    speaker, listener = pair
    payload = bytes(range(256)) * (3 * MIB // 256) + b"!"
    listener.subscribe(topic)
    speaker.publish(topic, payload)
    speaker.publish(topic, b"next")
    assert said(listener.heard()) == [(topic, payload), (topic, b"next")]


def test_an_empty_message_reaches_those_whose_protocol_has_such(pair: Pair, topic: bytes) -> None:
    """To FMQP an empty publication is nothing."""
    speaker, listener = pair
    listener.subscribe(topic)
    speaker.publish(topic, b"")
    speaker.publish(topic, b"next")
    empty = [(topic, b"")] * (speaker.has_empty and listener.has_empty)
    assert said(listener.heard()) == [*empty, (topic, b"next")]


def test_a_topic_arrives_where_there_is_room_for_it(pair: Pair, topic: bytes) -> None:
    """FMQP's have up to 255 octets; in a destination of MicroMsg2 six of them are taken."""
    speaker, listener = pair
    names = [topic + b"/" + (octets - len(topic) - 1) * b"x" for octets in range(248, 256)]
    listener.subscribe(topic + b"/*")
    for name in names:
        if len(name) <= speaker.longest_topic:
            speaker.publish(name, b"1")
    longest = min(speaker.longest_topic, listener.longest_topic)
    assert said(listener.heard()) == [(name, b"1") for name in names if len(name) <= longest]


def test_nobody_speaks_with_the_voice_of_the_bus(pair: Pair) -> None:
    """What a client publishes below ``$`` is not handed on, whatever it is."""
    speaker, listener = pair
    for name in (b"$/info/subscriptions", b"$/made/up"):
        listener.subscribe(name)
        speaker.publish(name, b"forged", retain=True)
    assert all(message.payload != b"forged" for message in listener.heard())
    listener.subscribe(b"$/made/up")
    # the bus may have something of its own to say meanwhile
    assert all(message.topic != b"$/made/up" for message in listener.heard())


@pytest.mark.parametrize("kind", PROTOCOLS, ids=lambda kind: kind.protocol)
def test_the_bus_tells_everybody_of_itself(join: Join, kind: type[Speaker]) -> None:
    """The service topics came with FMQP; their payloads are the same in all protocols."""
    listener, fmqp = join(kind), join(FMQP)
    listener.subscribe(b"$/info/clients")
    heard = listener.heard()
    assert heard[-1].topic == b"$/info/clients"
    assert int.from_bytes(heard[-1].payload, "big") >= 1
    fmqp.close()
