"""What of octets that are no packets, or packets that are no messages?"""

from __future__ import annotations

import random

from fmqbus.limits import MIB
from fmqbus.protocols.fmqp.codec import encode
from tests import vectors
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import reset
from tests.adversarial.subscriptions import OWN_SUBSCRIPTIONS

#: Vectors may ask the broker to end, which is not what is attacked here.
_DEAF_TO_SIGNALS = "[protocols.fmqp]\nsignals = false\n"

_FLAGS = (0, 0, 0, 0x04, 0x08, 0x0C, 0x20, 0x40, 0x80, 0x80, 0x90, 0xA0, 0xC0, 0xE0, 0xFF)
_LEVELS = (b"", b"a", b"b", b"*", b"$", b"info", b"clients", b"\x00", b"\xff\xfe", b"a*", "ä".encode(), b"x" * 80)


@attack(
    "all vectors, each cut at every octet, {times} times over, closed or reset",
    config=_DEAF_TO_SIGNALS,
    full=scale(memory_mib=16, times=5),
    smoke=scale(memory_mib=16, times=1),
)
def cut_vectors(siege: Siege, times: int) -> str:
    """Whatever of a packet comes, and however its connection then ends."""
    observer = siege.client()
    connections = 0
    for vector in vectors.load("fmqp"):
        for cut in [*range(1, len(vector.octets)), *[len(vector.octets)] * times]:
            connection = siege.broker.connect()
            connection.sendall(vector.octets[:cut])
            if cut % 2:
                connection.close()
            else:
                reset(connection)
            connections += 1
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    observer.number(b"$/info/subscriptions", OWN_SUBSCRIPTIONS.__eq__)
    return f"{connections:,} connections, no subscription left behind"


@attack(
    "{mib} MiB of random octets over {connections} connections",
    config=_DEAF_TO_SIGNALS,
    full=scale(memory_mib=64, mib=32, connections=512),
    smoke=scale(memory_mib=64, mib=2, connections=64),
)
def random_octets(siege: Siege, mib: int, connections: int) -> str:
    """Most announce bodies of some GiB; nobody is cut off for it, and nothing is kept."""
    observer = siege.client()
    chosen = random.Random(1)
    for _ in range(connections):
        with siege.broker.connect() as connection:
            connection.sendall(chosen.randbytes(mib * MIB // connections))
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    dropped = observer.next_number(b"$/info/messages/dropped")
    return f"{dropped:,} dropped and counted"


def _random_packets(chosen: random.Random, packets: int) -> bytes:
    """Packets that are well enough made to be looked at, of at most four levels, so that the witness hears none."""
    made = []
    for _ in range(packets):
        topic = b"/".join(chosen.choices(_LEVELS, k=chosen.randint(1, 4)))[:255]
        made.append(encode(chosen.choice(_FLAGS), topic, chosen.randbytes(chosen.choice((0, 1, 8, 300)))))
    return b"".join(made)


@attack(
    "{packets:,} random packets of all kinds over {connections} connections at once",
    config=_DEAF_TO_SIGNALS,
    full=scale(memory_mib=96, packets=200_000, connections=50),
    smoke=scale(memory_mib=64, packets=5_000, connections=10),
)
def random_packets(siege: Siege, packets: int, connections: int) -> str:
    """Flags, levels, stars, services, NULs and broken UTF-8 in all combinations, from clients that also receive."""
    observer = siege.client()
    chosen = random.Random(2)
    crowd = siege.crowd(connections)
    for _ in range(10):
        crowd.send(_random_packets(chosen, packets // connections // 10))
        assert crowd.closed() == 0
    crowd.__exit__()
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    dropped = observer.next_number(b"$/info/messages/dropped")
    return f"{dropped:,} dropped and counted, nobody cut off"
