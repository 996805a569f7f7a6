"""Does each vector bring about what it says? Played on a bus in memory, octet for octet.

`tests/vectors/fmqp.json` says what a packet's own connection and others get. What else its ``expect`` says in words is
in `AFTERWARDS`: what the bus knows then that it did not know before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
import pytest

from tests import vectors
from tests.protocols.fmqp.memory_bus import Client, MemoryBus
from tests.protocols.fmqp.packets import CACHE, LAST_WILL, publication, split, subscribe, u64

VECTORS = {vector.name: vector for vector in vectors.load("fmqp")}
FROM_CLIENT = [vector for vector in VECTORS.values() if vector.direction == "client->broker"]
FROM_BROKER = [vector for vector in VECTORS.values() if vector.direction == "broker->client"]

#: Patterns that are equivalent to every topic in the vectors.
ALL = [b"*", b"*/*", b"*/*/*"]


@attrs.frozen(kw_only=True)
class Known:
    """What the bus knows of what a client said."""

    subscriptions: Sequence[bytes] = attrs.field(default=(), converter=tuple)
    watches: Sequence[bytes] = attrs.field(default=(), converter=tuple)
    #: What a later subscriber gets at once.
    cached: Sequence[bytes] = attrs.field(default=(), converter=tuple)
    #: What others get when the client has gone.
    wills: Sequence[bytes] = attrs.field(default=(), converter=tuple)
    #: What was discarded, and why.
    drops: Mapping[str, int] = attrs.field(factory=dict)
    signals: Sequence[bool] = attrs.field(default=(), converter=tuple)


GONE = b"gone"
AFTERWARDS = {
    "sub_plain": Known(subscriptions=[b"room/temp"]),
    "sub_wildcard": Known(subscriptions=[b"room/*"]),
    "pub_plain": Known(),
    "pub_outer_slashes": Known(),
    "pub_many_outer_slashes": Known(),
    "pub_wildcard": Known(),
    "pub_inner_empty_level": Known(),
    "pub_star_in_level": Known(),
    "pub_cached": Known(cached=[publication(b"room/temp", b"21.5", CACHE)]),
    "pub_empty": Known(),
    "pub_empty_cached": Known(),
    "will": Known(wills=[publication(b"room/status", GONE, LAST_WILL)]),
    "will_cached": Known(wills=[publication(b"room/status", GONE, LAST_WILL | CACHE)]),
    "unsub": Known(),
    "unsub_unknown": Known(),
    "sub_feedback": Known(watches=[b"room/temp"]),
    "sub_debug": Known(subscriptions=[b"room/temp"]),
    "client_feedback_publication": Known(drops={"feedback-publication": 1}),
    "sub_with_body": Known(subscriptions=[b"room/temp"]),
    "reserved_bits": Known(subscriptions=[b"room/temp"]),
    "pub_with_unsub_bit": Known(),
    "topic_empty": Known(drops={"topic-empty": 1}),
    "topic_only_slashes": Known(drops={"topic-empty": 1}),
    "topic_bad_utf8": Known(drops={"topic-utf8": 1}),
    "topic_nul": Known(drops={"topic-nul": 1}),
    "topic_255": Known(),
    "topic_multibyte": Known(subscriptions=["дом/свет".encode()]),
    "two_packets_one_segment": Known(subscriptions=[b"a"]),
    "bad_then_good": Known(subscriptions=[b"a"], drops={"topic-empty": 1}),
    "empty_topic_after_flags": Known(subscriptions=[b"a"], drops={"topic-empty": 1}),
    "truncated_at_close": Known(),
    "oversize_length": Known(drops={"oversize": 1}),
    "sub_info_clients": Known(subscriptions=[b"$/info/clients"]),
    "pub_service_topic": Known(),
    "signal_stop": Known(signals=[True]),
    "wildcard_signal": Known(),
    "dollar_prefix": Known(),
}


def play(text: str, here: Client, elsewhere: Client) -> None:
    """Let happen what a vector's ``after`` says."""
    words, _, place = text.partition(" (")
    if topic := words.removeprefix("a subscription to "):
        octets = subscribe(topic.encode())
    if topic == words:
        octets = b"".join(VECTORS[name].octets for name in words.split(" and "))
    (elsewhere if place else here).say(octets)


@pytest.mark.parametrize("vector", FROM_CLIENT, ids=lambda vector: vector.name)
@pytest.mark.parametrize("piece_octets", [1 << 20, 1], ids=["whole", "octet by octet"])
def test_what_a_client_writes_brings_about_what_the_vector_says(vector: vectors.Vector, piece_octets: int) -> None:
    """All sections of FMQP; the connection stays, whatever it was."""
    bus = MemoryBus()
    client = bus.connect()
    bystander = bus.connect() if vector.deliver_to_others is not None or vector.after else client
    if not vector.after and bystander is not client:
        bystander.say(*map(subscribe, ALL))
    for text in vector.after:
        play(text, client, bystander)
    bystander.heard()
    for at in range(0, len(vector.octets), piece_octets):
        client.say(vector.octets[at : at + piece_octets])
    if vector.reply is not None:
        assert client.heard() == list(vector.reply)
    if vector.deliver_to_others is not None:
        assert bystander.heard() == list(vector.deliver_to_others)
    assert client.is_connected
    assert known_of(client, bus) == AFTERWARDS[vector.name]


def known_of(client: Client, bus: MemoryBus) -> Known:
    """What the bus knows; the client is gone afterwards."""
    session = bus.router.sessions()[0]
    subscriptions, watches = tuple(session.subscriptions), tuple(session.watches or ())
    drops, signals = bus.drops, bus.signals
    # nothing below $: what the broker itself tells there is not the client's doing
    later = bus.connect(*(subscribe(pattern) for pattern in ALL))
    cached = [packet for packet in later.heard() if packet[6:8] != b"$/"]
    client.close()
    wills = [packet for packet in later.heard() if packet[6:8] != b"$/"]
    return Known(subscriptions=subscriptions, watches=watches, cached=cached, wills=wills, drops=drops, signals=signals)


def test_every_vector_of_a_client_has_its_consequences_written_down() -> None:
    """One that is added to the file wants a row here."""
    assert AFTERWARDS.keys() == {vector.name for vector in FROM_CLIENT}


@pytest.mark.parametrize("vector", FROM_BROKER, ids=lambda vector: vector.name)
def test_what_the_broker_writes_is_what_the_vector_says(vector: vectors.Vector) -> None:
    """Caching, feedback and service topics; octet for octet."""
    bus = MemoryBus()
    client, other = bus.connect(), bus.connect()
    if vector.spec == "Service topics and subscriptions":
        [topic] = [octets[6:-8] for octets in split(vector.octets)]
        client.say(subscribe(topic))
        bus.wait(1)
        client.heard()
        bus.wait(1)
    for text in vector.after:
        play(text, client, other)
    assert client.heard()[-1:] == [vector.octets]


def test_feedback_on_subscription_is_not_empty() -> None:
    """Reading 34: that is what a client may rely on; the number in it is ours."""
    body = VECTORS["feedback_on_subscribe"].octets[-8:]
    assert body == u64(1)
