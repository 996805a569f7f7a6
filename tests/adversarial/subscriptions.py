"""What of very many subscriptions, and of their sudden end?"""

from __future__ import annotations

import time

from fmqbus.protocols.fmqp.codec import SUBSCRIPTION, UNSUBSCRIBE, encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import Client
from tests.adversarial.measure import memory_of

#: Those of the witness, and the observer's with which it asks for the number.
OWN_SUBSCRIPTIONS = 3


def subscribe_to_many(client: Client, subscriptions: int) -> None:
    """One client, as many topics; returns when the broker has them all."""
    client.send(*(encode(SUBSCRIPTION, b"many/%d" % number) for number in range(subscriptions)))
    client.settle()


@attack(
    "one client makes {subscriptions:,} subscriptions",
    full=scale(memory_mib=100, subscriptions=100_000),
    smoke=scale(memory_mib=12, subscriptions=10_000),
)
def many_subscriptions(siege: Siege, subscriptions: int) -> str:
    """The count is within `Limits.subscriptions_per_peer`; it must cost memory in proportion and nobody's time."""
    client = siege.client()
    before, _ = memory_of(siege.broker)
    begun = time.monotonic()
    subscribe_to_many(client, subscriptions)
    seconds = time.monotonic() - begun
    after, _ = memory_of(siege.broker)
    siege.client().send(encode(0, b"many/%d" % (subscriptions - 1), b"!"))
    assert client.take().body == b"!"
    each = (after - before) * 1024 * 1024 / subscriptions
    return f"{subscriptions / seconds:,.0f} a second, {each:,.0f} octets each"


@attack(
    "the client with {subscriptions:,} subscriptions goes",
    full=scale(memory_mib=4, subscriptions=100_000),
    smoke=scale(memory_mib=4, subscriptions=10_000),
)
def many_subscriptions_end(siege: Siege, subscriptions: int) -> str:
    """They all end at once; the others must not wait for the last of them."""
    observer = siege.client()
    client = siege.client()
    subscribe_to_many(client, subscriptions)
    siege.watch.start_anew()
    begun = time.monotonic()
    client.connection.close()
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    seconds = time.monotonic() - begun
    observer.number(b"$/info/subscriptions", OWN_SUBSCRIPTIONS.__eq__)
    return f"all ended within {seconds:.2f} s"


@attack(
    "one client asks {times} times {over} subscriptions more than it may have",
    config="[limits]\nsubscriptions_per_peer = 1000\nwildcards_per_peer = 100\n",
    full=scale(memory_mib=8, times=20, over=5_000),
    smoke=scale(memory_mib=8, times=2, over=5_000),
)
def too_many_subscriptions(siege: Siege, times: int, over: int) -> str:
    """Refused one by one, and each refusal counted; those within the limit stay."""
    client = siege.client()
    observer = siege.client()
    subscribe_to_many(client, 999)
    for _ in range(times):
        client.send(*(encode(SUBSCRIPTION, b"more/%d" % number) for number in range(over)))
    client.send(encode(SUBSCRIPTION | UNSUBSCRIBE, b"many/0"))
    client.settle()
    # each time, the first finds the last free place or is there already
    expected = times * (over - 1)
    refused = observer.number(b"$/info/messages/dropped", lambda number: number >= expected)
    assert refused == expected
    observer.send(encode(0, b"many/998", b"!"))
    assert client.take().body == b"!"
    return f"{refused:,} refused and counted"


@attack(
    "{packets:,} subscriptions and their ends, 7 octets each, in one piece",
    full=scale(memory_mib=16, packets=500_000),
    smoke=scale(memory_mib=16, packets=50_000),
)
def small_packets(siege: Siege, packets: int) -> str:
    """The most work for the fewest octets: one read of the broker holds tens of thousands of them."""
    client = siege.client()
    pair = encode(SUBSCRIPTION, b"x") + encode(SUBSCRIPTION | UNSUBSCRIBE, b"x")
    begun = time.monotonic()
    client.send(pair * (packets // 2))
    client.settle()
    return f"{packets / (time.monotonic() - begun):,.0f} a second"
