"""What of very many retained messages, and of those who ask for them?"""

from __future__ import annotations

from fmqbus.limits import KIB, MIB
from fmqbus.protocols.fmqp.codec import CACHE, SUBSCRIPTION, encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import Client


def retain_many(client: Client, messages: int, octets: int) -> None:
    """Have the broker keep so many messages of so many octets."""
    body = bytes(octets)
    for begin in range(0, messages, 1000):
        some = range(begin, min(begin + 1000, messages))
        client.send(*(encode(CACHE, b"kept/%d" % number, body) for number in some))
    client.settle()


@attack(
    "{messages:,} retained messages, one subscriber to all",
    full=scale(memory_mib=160, messages=45_000),
    smoke=scale(memory_mib=20, messages=2_000),
)
def retained_flood(siege: Siege, messages: int) -> str:
    """As many as `Limits.replay_visits` lets one wildcard bring."""
    publisher, reader = siege.client(), siege.client()
    retain_many(publisher, messages, octets=16)
    siege.watch.start_anew()
    reader.send(encode(SUBSCRIPTION, b"kept/*"))
    got = sum(packet.topic.startswith(b"kept/") for packet in reader.settle())
    assert got == messages
    return f"all {got:,} replayed"


@attack(
    "{messages:,} retained messages asked for {times:,} times in one piece by one who does not read",
    config="[limits]\noutbox_octets = 4_194_304\n",
    full=scale(memory_mib=64, messages=10_000, times=100),
    smoke=scale(memory_mib=64, messages=2_000, times=300),
)
def retained_amplified(siege: Siege, messages: int, times: int) -> str:
    """12 octets of a repeated subscription ask for 300 KiB each time; only the last answer is still owed."""
    publisher, reader = siege.client(), siege.client()
    retain_many(publisher, messages, octets=16)
    siege.watch.start_anew()
    reader.send(encode(SUBSCRIPTION, b"kept/*") * times)
    publisher.settle()
    got = {packet.topic for packet in reader.settle() if packet.topic.startswith(b"kept/")}
    assert len(got) == messages
    return "nothing lost, and no more kept than one answer"


@attack(
    "{mib} MiB of retained messages asked for by {readers} who do not read",
    config="[limits]\noutbox_octets = 4_194_304\n",
    full=scale(memory_mib=100, mib=64, readers=10),
    smoke=scale(memory_mib=60, mib=32, readers=5),
)
def retained_to_deaf(siege: Siege, mib: int, readers: int) -> str:
    """A replay waits for its reader, and costs next to nothing while it does."""
    publisher = siege.client()
    retain_many(publisher, mib * MIB // (64 * KIB), octets=64 * KIB)
    siege.watch.start_anew()
    deaf = siege.crowd(readers)
    deaf.send(encode(SUBSCRIPTION, b"kept/*"))
    publisher.settle()
    publisher.number(b"$/info/subscriptions", lambda number: number >= readers)
    return "the rest of each replay waits for its reader"


@attack(
    "{over:,} retained messages more than may be kept",
    config="[limits]\nretained_topics = 1000\n",
    # the broker remembers where each of these topics leads (`Limits.cached_routes`)
    full=scale(memory_mib=48, over=100_000),
    smoke=scale(memory_mib=16, over=5_000),
)
def too_many_retained(siege: Siege, over: int) -> str:
    """Refused and counted; those kept stay, and can still be replaced."""
    publisher, reader = siege.client(), siege.client()
    retain_many(publisher, 1000 + over, octets=16)
    refused = reader.number(b"$/info/messages/dropped", lambda number: number >= over)
    assert refused == over
    publisher.send(encode(CACHE, b"kept/999", b"new"))
    publisher.settle()
    reader.send(encode(SUBSCRIPTION, b"kept/999"))
    assert reader.take().body == b"new"
    return f"{refused:,} refused and counted"
