"""What of those who watch who listens, and of wills: what clients leave behind by coming and going?"""

from __future__ import annotations

from fmqbus.limits import MIB
from fmqbus.protocols.fmqp.codec import FEEDBACK, LAST_WILL, SUBSCRIPTION, UNSUBSCRIBE, encode
from tests.adversarial.attack import Siege, attack, scale


@attack(
    "{changes:,} subscriptions come and go before a watcher of all that does not read",
    config=f"[limits]\noutbox_octets = {32 * MIB}\n",
    full=scale(memory_mib=64, changes=400_000, topics=50_000),
    smoke=scale(memory_mib=32, changes=20_000, topics=5_000),
)
def feedback_flood(siege: Siege, changes: int, topics: int) -> str:
    """Feedback is bounded too, and what the watcher reads at last must be how things stand (reading 50)."""
    watcher, attacker = siege.client(), siege.client()
    watcher.send(encode(SUBSCRIPTION | FEEDBACK, b"*/*"))
    watcher.settle()
    subscribe = b"".join(encode(SUBSCRIPTION, b"f/%d" % number) for number in range(topics))
    end = b"".join(encode(SUBSCRIPTION | UNSUBSCRIBE, b"f/%d" % number) for number in range(topics))
    for _ in range(changes // topics // 2):
        attacker.send(subscribe, end)
    attacker.send(encode(SUBSCRIPTION, b"f/0"))
    attacker.settle()
    seen = {packet.topic: packet.body for packet in watcher.settle()}
    assert seen.pop(b"f/0") == (1).to_bytes(8, "big"), "somebody listens to f/0"
    stale = sum(body != b"" for body in seen.values())
    assert not stale, f"of {stale} topics the watcher believes that somebody listens"
    return "bounded; the watcher's last word on each topic is right"


@attack(
    "{clients} clients leave {wills:,} wills each and go at once",
    full=scale(memory_mib=160, clients=200, wills=1_000),
    smoke=scale(memory_mib=32, clients=20, wills=500),
)
def will_flood(siege: Siege, clients: int, wills: int) -> str:
    """As many as `Limits.wills_per_peer` allows; all are published, in the turn of each one's end."""
    heir = siege.client()
    heir.subscribe(b"will/*")
    crowd = siege.crowd(clients)
    testament = b"".join(encode(LAST_WILL, b"will/%d" % number, b"bye") for number in range(wills))
    assert crowd.send(testament) == clients
    siege.client().settle()
    for connection in crowd.connections:
        connection.close()
    for _ in range(clients * wills):
        assert heir.take().body == b"bye"
    return f"all {clients * wills:,} delivered"


@attack(
    "one client leaves {over:,} wills more than it may",
    full=scale(memory_mib=16, over=20_000),
    smoke=scale(memory_mib=16, over=2_000),
)
def too_many_wills(siege: Siege, over: int) -> str:
    """Refused and counted; those within the limit are published."""
    heir, testator = siege.client(), siege.client()
    heir.subscribe(b"will/*")
    testator.send(*(encode(LAST_WILL, b"will/%d" % number, b"bye") for number in range(1_000 + over)))
    testator.settle()
    refused = heir.number(b"$/info/messages/dropped", lambda number: number >= over)
    assert refused == over
    testator.connection.close()
    for number in range(1_000):
        assert heir.take().topic == b"will/%d" % number
    return f"{refused:,} refused and counted, 1,000 published"
