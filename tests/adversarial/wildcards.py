"""What of patterns and topics that are equivalent to very many others?"""

from __future__ import annotations

import random
import time
from itertools import islice, product

from fmqbus.protocols.fmqp.codec import SUBSCRIPTION, UNSUBSCRIBE, encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import Client
from tests.adversarial.subscriptions import subscribe_to_many

#: The longest topic that a packet can carry, and the most levels it can have: 127 slashes and 128 stars.
DEEPEST = b"/".join([b"*"] * 128)


def overlapping(depth: int) -> list[bytes]:
    """All patterns of this depth made of ``a`` and ``*``: each name of only ``a`` is equivalent to every one."""
    return [b"/".join(levels) for levels in product([b"a", b"*"], repeat=depth)]


def subscribe_overlapping(client: Client, depth: int) -> int:
    """Subscribe to all but the literal one; returns how many."""
    patterns = overlapping(depth)[1:]
    client.send(*(encode(SUBSCRIPTION, pattern) for pattern in patterns))
    client.settle()
    return len(patterns)


@attack(
    "{publications:,} publications, each under another topic that half of 2^{depth} overlapping wildcards match",
    full=scale(memory_mib=64, depth=10, publications=500),
    smoke=scale(memory_mib=32, depth=10, publications=100),
)
def overlapping_wildcards(siege: Siege, depth: int, publications: int) -> str:
    """As many as `Limits.wildcards_per_peer` allows; no topic comes twice, so nothing can be remembered."""
    client = siege.client()
    patterns = subscribe_overlapping(client, depth)
    siege.watch.start_anew()
    rest = b"/a" * (depth - 1)
    client.send(*(encode(0, b"%d" % number + rest, b"!") for number in range(publications)))
    for _ in range(publications):
        assert client.take().body == b"!"
    return f"one copy each, with {patterns:,} wildcards"


@attack(
    "{rounds:,} times a wildcard is made and ended, and a topic published that 2^{depth} others match",
    full=scale(memory_mib=32, depth=10, rounds=200),
    smoke=scale(memory_mib=16, depth=10, rounds=50),
)
def forgotten_routes(siege: Siege, depth: int, rounds: int) -> str:
    """A change of any wildcard makes the broker forget where topics lead: it has to match anew each time."""
    client = siege.client()
    subscribe_overlapping(client, depth)
    siege.watch.start_anew()
    topic = b"/".join([b"a"] * depth)
    change = encode(SUBSCRIPTION, b"*/b") + encode(SUBSCRIPTION | UNSUBSCRIBE, b"*/b")
    client.send((change + encode(0, topic, b"!")) * rounds)
    for _ in range(rounds):
        assert client.take().body == b"!"
    return "one copy each"


@attack(
    "{publications:,} publications under a wildcard, over {subscriptions:,} subscriptions",
    full=scale(memory_mib=64, subscriptions=90_000, publications=20),
    smoke=scale(memory_mib=32, subscriptions=1_000, publications=100),
)
def wildcard_publications(siege: Siege, subscriptions: int, publications: int) -> str:
    """14 octets each, and each has the broker look at every subscription there is."""
    client = siege.client()
    observer = siege.client()
    subscribe_to_many(client, subscriptions)
    siege.watch.start_anew()
    client.send(encode(0, b"many/*", b"!") * publications)
    got = sum(packet.topic == b"many/*" for packet in client.settle())
    refused = observer.number(b"$/info/messages/dropped", lambda number: number >= publications - got)
    assert got + refused == publications
    return f"{got:,} delivered, {refused:,} refused and counted"


@attack(
    "topics of 255 octets in 128 levels, all stars; and {patterns:,} such patterns with stars at random",
    full=scale(memory_mib=64, patterns=9_000),
    smoke=scale(memory_mib=32, patterns=500),
)
def deepest(siege: Siege, patterns: int) -> str:
    """Nothing recurses, and nothing grows with two to the depth (threats, row 10)."""
    client = siege.client()
    chosen = random.Random(10)
    client.send(encode(SUBSCRIPTION, DEEPEST))
    client.send(
        *(encode(SUBSCRIPTION, b"/".join(chosen.choices([b"a", b"*"], k=128))) for _ in range(patterns)),
    )
    client.settle()
    siege.watch.start_anew()
    topics = [DEEPEST, DEEPEST.replace(b"*", b"a"), *(b"%d" % n + b"/a" * 126 for n in range(50))]
    client.send(*(encode(0, topic, b"!") for topic in topics))
    matched = sum(packet.body == b"!" for packet in client.settle())
    assert matched == 2, "the two of 128 levels, not those of 127"
    return "matched by level, without depth"


@attack(
    "{changes:,} wildcards made and ended while another client publishes over {topics:,} topics",
    full=scale(memory_mib=32, changes=100_000, topics=1_000),
    smoke=scale(memory_mib=16, changes=5_000, topics=1_000),
)
def storm_of_changes(siege: Siege, changes: int, topics: int) -> str:
    """Each change makes the broker forget where the topics lead."""
    publisher, attacker, reader = siege.client(), siege.client(), siege.client()
    reader.subscribe(b"storm/*")
    sweep = b"".join(encode(0, b"storm/%d" % number, b"!") for number in range(topics))
    pair = encode(SUBSCRIPTION, b"*/x") + encode(SUBSCRIPTION | UNSUBSCRIBE, b"*/x")
    begun = time.monotonic()
    sweeps = 20
    for _ in range(sweeps):
        attacker.send(pair * (changes // sweeps // 2))
        publisher.send(sweep)
    attacker.settle()
    publisher.settle()
    seconds = time.monotonic() - begun
    got = sum(packet.body == b"!" for packet in islice(iter(reader.take, None), sweeps * topics))
    assert got == sweeps * topics
    return f"{changes / seconds:,.0f} changes and {got / seconds:,.0f} messages a second, none lost"
