"""What of UMQ clients that ask without end, answer what they were not asked, or do not read?"""

from __future__ import annotations

import json

from fmqbus.protocols.fmqp.codec import encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import wait_until
from tests.live.umq_client import Refused


@attack(
    "{times:,} results and errors for calls that nobody made, and for another's",
    full=scale(memory_mib=32, times=100_000),
    smoke=scale(memory_mib=16, times=2_000),
)
def umq_forged_results(siege: Siege, times: int) -> str:
    """A caller hears from the one who was asked, and from nobody else."""
    server, caller, forger = siege.umq(), siege.umq(), siege.umq()
    server.call("serve", "sum")
    caller.begin(["sum", 1], tag="asked")
    forger.say(*(f"R{number}:666" for number in range(times)), *(f"E{number}:1 no" for number in range(100)))
    forger.call("list")
    server.answer(server.wait(), 3)  # type: ignore[arg-type]
    wait_until(lambda: [answer.payload for answer in caller.answers()] == [b"3"], "the answer comes")
    return "all ignored"


@attack(
    "{calls:,} calls of a method whose server never answers",
    config="[limits]\ncalls_per_peer = 1000\n[calls]\ndeadline = 2\n",
    full=scale(memory_mib=64, calls=100_000),
    smoke=scale(memory_mib=32, calls=3_000),
)
def umq_unanswered(siege: Siege, calls: int) -> str:
    """So many wait at a time; the others are refused at once, and all end by the deadline."""
    server, caller = siege.umq(), siege.umq()
    server.call("serve", "slow", {"window": 1})
    for number in range(calls):
        caller.begin(["slow", number], tag=number)
    ended = {caller.wait().tag for _ in range(calls)}  # type: ignore[union-attr]
    assert len(ended) == calls
    return "each ended once, by an error"


@attack(
    "{topics:,} UMQ subscriptions and as many again",
    full=scale(memory_mib=160, topics=50_000),
    smoke=scale(memory_mib=16, topics=2_000),
)
def umq_subscriptions(siege: Siege, topics: int) -> str:
    """Each has a topic of its own; all end with the client."""
    client = siege.umq()
    for number in range(topics):
        client.begin(["subscribe", f"t/{number}", client.topic("")], tag=number)
        if number % 500 == 0:
            client.answers()
    client.answers()
    observer = siege.client()
    observer.number(b"$/info/subscriptions", lambda number: number >= topics)
    client.close()
    observer.number(b"$/info/subscriptions", lambda number: number < 100)
    return "gone with their client"


@attack(
    "a UMQ subscriber that does not read while {mib} MiB are published",
    config="[limits]\noutbox_octets = 4_194_304\n",
    full=scale(memory_mib=60, mib=64),
    smoke=scale(memory_mib=60, mib=32),
)
def umq_deaf_subscriber(siege: Siege, mib: int) -> str:
    """Updates are left out, its connection stays, and the last one comes."""
    reader, publisher = siege.umq(), siege.client()
    reader.call("subscribe", "flood", reader.topic("flood"))
    body = json.dumps("x" * 1000).encode()
    for _ in range(mib):
        publisher.send(encode(0, b"flood", body) * 1024)
        publisher.settle()
    publisher.send(encode(0, b"flood", b"last"))
    publisher.settle()
    texts: list[str] = []

    def has_come() -> bool:
        texts.extend(said["text"] for _, said, _ in reader.updates())
        return texts[-1:] == ["last"]

    wait_until(has_come, "the last update comes")
    assert len(texts) < mib * 1024
    return f"{len(texts):,} of {mib * 1024 + 1:,} came, the last among them"


@attack(
    "{times:,} names asked for that nobody serves",
    full=scale(memory_mib=32, times=50_000),
    smoke=scale(memory_mib=16, times=1_000),
)
def umq_unserved(siege: Siege, times: int) -> str:
    """Nothing is remembered of them."""
    client = siege.umq()
    codes = set()
    for number in range(times):
        try:
            client.call(f"nobody/{number}")
        except Refused as refused:
            codes.add(refused.code)
    assert codes == {7}
    return "each refused at once"
