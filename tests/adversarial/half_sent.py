"""What of packets that are begun and not ended, or announced and not sent?"""

from __future__ import annotations

from fmqbus.limits import MIB
from fmqbus.protocols.fmqp.codec import HEADER_OCTETS, MAX_BODY_OCTETS, encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import wait_until


def announce(octets: int) -> bytes:
    """The head of a publication whose body has so many octets, and its topic."""
    return encode(0, b"big")[:2] + octets.to_bytes(4, "big") + b"big"


@attack(
    "{connections:,} connections announce 4 GiB each and send {mib} MiB of it",
    full=scale(memory_mib=32, connections=1_000, mib=2),
    smoke=scale(memory_mib=16, connections=50, mib=2),
)
def announced_bodies(siege: Siege, connections: int, mib: int) -> str:
    """Memory must not follow what a header says (threats, row 1)."""
    observer = siege.client()
    crowd = siege.crowd(connections)
    assert crowd.send(announce(MAX_BODY_OCTETS) + bytes(mib * MIB)) == connections
    dropped = observer.number(b"$/info/messages/dropped", lambda number: number >= connections)
    assert dropped == connections
    assert crowd.closed() == 0
    return f"skipped unbuffered, {dropped:,} counted as dropped, nobody cut off"


@attack(
    "{connections:,} connections each leave a packet of 16 MiB one octet short",
    # twice the limit: buffers grow ahead of what they hold, and leave holes behind
    full=scale(memory_mib=2 * 256, connections=1_000, limit_mib=256),
    smoke=scale(memory_mib=2 * 256, connections=40, limit_mib=256),
    open_defect="a turn reads something of each of 1,000 connections",
)
def almost_complete(siege: Siege, connections: int, limit_mib: int) -> str:
    """All half-received packets together have a bound (`Limits.assembly_octets`); those that grow past it are cut."""
    crowd = siege.crowd(connections)
    packet = announce(16 * MIB) + bytes(16 * MIB - 1)
    crowd.send(packet)
    whole = limit_mib // 16
    wait_until(lambda: crowd.closed() >= connections - whole, "the broker cuts the others off")
    cut = crowd.closed()
    siege.broker.wait_for("half-received messages of all clients pass their limit")
    assert cut < connections, "somebody is still let finish"
    return f"{cut:,} cut off at {limit_mib} MiB in all, the other {connections - cut} kept"


@attack(
    "{connections:,} connections send a packet octet by octet",
    full=scale(memory_mib=16, connections=1_000),
    smoke=scale(memory_mib=8, connections=50),
)
def drip(siege: Siege, connections: int) -> str:
    """However slowly it comes, it is one packet, and costs what it holds (threats, row 2)."""
    reader = siege.client()
    reader.subscribe(b"drip")
    crowd = siege.crowd(connections)
    packet = encode(0, b"drip", b"drop")
    for at in range(len(packet)):
        assert crowd.send(packet[at : at + 1]) == connections
    for _ in range(connections):
        assert reader.take().body == b"drop"
    return f"all {connections:,} delivered, from {len(packet)} reads each"


@attack(
    "{connections:,} connections end in the middle of a header, a topic or a body",
    full=scale(memory_mib=16, connections=2_000),
    smoke=scale(memory_mib=8, connections=100),
)
def broken_off(siege: Siege, connections: int) -> str:
    """A packet that is not whole is none (reading 52)."""
    reader = siege.client()
    reader.subscribe(b"broken/off")
    packet = encode(0, b"broken/off", b"body")
    cuts = range(1, len(packet))
    for number in range(connections):
        with siege.broker.connect() as connection:
            connection.sendall(packet[: cuts[number % len(cuts)]])
    assert HEADER_OCTETS in cuts
    reader.number(b"$/info/clients", lambda clients: clients == 3)
    assert reader.settle() == []
    return "nothing published"
