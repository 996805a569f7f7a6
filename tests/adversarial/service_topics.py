"""Can a client that must not control the broker make it end, or speak with its voice?"""

from __future__ import annotations

from itertools import product

from fmqbus.protocols.fmqp.codec import CACHE, DEBUG, FEEDBACK, LAST_WILL, SUBSCRIPTION, UNSUBSCRIBE, encode
from tests.adversarial.attack import Siege, attack, scale

_NO_CONTROL = """
[[access.rules]]
effect = "deny"
actions = ["control"]
who = ["*"]
names = ["$/**"]
"""

_SIGNALS = (b"$/signals/stop", b"$/signals/terminate")
_FORGED = (
    *_SIGNALS,
    *(b"/" + topic + b"//" for topic in _SIGNALS),
    b"*/signals/stop",
    b"*/signals/terminate",
    b"$/*/terminate",
    b"$/signals/*",
    b"*/*/*",
    b"$/info/clients",
    b"$/info/messages/dropped",
    b"*/info/clients",
    b"$/info/*",
    b"$",
    b"$/made/up",
)
#: A publication with any of the flags that could matter, also those without sense.
_FLAGS = tuple(
    sum(flags) for flags in product((0, CACHE), (0, LAST_WILL), (0, FEEDBACK), (0, UNSUBSCRIBE), (0, DEBUG), (0, 0x03))
)


@attack(
    "{clients} clients forge what is below $ by every flag and wildcard, and leave it as wills",
    config=_NO_CONTROL,
    full=scale(memory_mib=16, clients=200),
    smoke=scale(memory_mib=16, clients=5),
)
def forged_service_topics(siege: Siege, clients: int) -> str:
    """No way leads to a signal, nothing forged is handed on or kept (threats, rows 15 and 17; readings 42 and 43)."""
    reader = siege.client()
    for pattern in (b"$/*", b"$/*/*", b"$/*/*/*", b"$"):
        reader.subscribe(pattern)
    forged = b"".join(encode(flags, topic, b"forged") for flags in _FLAGS for topic in _FORGED)
    for _ in range(clients):
        forger = siege.client()
        forger.send(forged)
        forger.settle()
        forger.connection.close()
    reader.number(b"$/info/clients", lambda number: number == 3)
    # whatever a later subscriber is told comes from the broker, too
    late = siege.client()
    late.send(encode(SUBSCRIPTION, b"$/info/*"), encode(SUBSCRIPTION, b"$/info/*/*"))
    told = reader.settle() + late.settle()
    assert all(packet.body != b"forged" for packet in told), "a forged message was handed on"
    dropped = reader.next_number(b"$/info/messages/dropped")
    assert dropped > clients * len(_FORGED)
    return f"nothing handed on or obeyed; {dropped:,} dropped and counted"
