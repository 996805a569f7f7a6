"""What of MicroMsg2 handshakes that are cut, never ended, out of measure, or no handshakes at all?"""

from __future__ import annotations

import random
import socket
import time
from contextlib import suppress

from fmqbus.limits import KIB, MIB
from tests.adversarial.attack import MICROMSG2, Siege, attack, scale
from tests.adversarial.client import reset
from tests.adversarial.measure import memory_of
from tests.adversarial.subscriptions import OWN_SUBSCRIPTIONS
from tests.protocols.micromsg2.written import command, handshake, message

#: All three steps that a client can say at once, and frames behind them.
_STEPS = 2 * handshake(b"batch-ack:max-count=10;pubsub", b"json", b"client")
_WHOLE = _STEPS + command(b"subscribe;destination=topic/cut") + message(1, b"topic/cut", b"body", b"p:N1")


def last_words(connection: socket.socket) -> bytes:
    """All that the broker still says until it closes the connection."""
    said = b""
    while data := connection.recv(1 << 16):
        said += data
    return said


@attack(
    "a MicroMsg2 handshake, and frames behind it, cut at every octet, {times} times over, closed or reset",
    config="[limits]\nconnections = 40\n",
    full=scale(memory_mib=16, times=20),
    smoke=scale(memory_mib=16, times=1),
)
def cut_handshakes(siege: Siege, times: int) -> str:
    """Of so few places none is lost, and nothing that was subscribed is left behind."""
    observer = siege.client()
    connections = 0
    for _ in range(times):
        for cut in range(1, len(_WHOLE) + 1):
            connection = siege.broker.connect(MICROMSG2)
            connection.sendall(_WHOLE[:cut])
            if cut % 2:
                connection.close()
            else:
                reset(connection)
            connections += 1
    siege.micromsg2().heard()
    observer.number(b"$/info/subscriptions", OWN_SUBSCRIPTIONS.__eq__)
    return f"{connections:,} connections, no subscription left behind"


@attack(
    "{connections:,} MicroMsg2 connections that say nothing, or half a handshake, or all and then nothing",
    config="[limits]\nhandshake_seconds = 2\nidle_seconds = 4\n",
    full=scale(memory_mib=32, connections=1_000),
    smoke=scale(memory_mib=16, connections=60),
)
def silent_handshakes(siege: Siege, connections: int) -> str:
    """Who does not shake hands in time is told so and cut off, who is silent afterwards too (`Limits.idle_seconds`)."""
    halves = (b"", _STEPS[:3], _STEPS[: len(_STEPS) // 2 - 1], _STEPS[:-1])
    begun = time.monotonic()
    hanging = [siege.broker.connect(MICROMSG2) for _ in range(connections)]
    for number, connection in enumerate(hanging):
        connection.sendall(halves[number % len(halves)])
    idle = siege.broker.connect(MICROMSG2)
    idle.sendall(_STEPS)
    told = sum(b"no handshake in time" in last_words(connection) for connection in hanging)
    assert told == connections
    seconds = time.monotonic() - begun
    # who does not go when the broker says that it does is cut off a little later
    with suppress(ConnectionResetError):
        last_words(idle)
    return f"all told and cut off within {seconds:.1f} s; the idle one after {time.monotonic() - begun:.1f} s"


@attack(
    "{mib} MiB of random octets over {connections} MicroMsg2 connections, half of them behind a handshake",
    full=scale(memory_mib=64, mib=32, connections=512),
    smoke=scale(memory_mib=64, mib=2, connections=64),
)
def random_micromsg2_octets(siege: Siege, mib: int, connections: int) -> str:
    """The first octet that cannot be meant is the end of a connection."""
    chosen = random.Random(1)
    told = 0
    for number in range(connections):
        with siege.broker.connect(MICROMSG2) as connection:
            connection.sendall(_STEPS * (number % 2) + chosen.randbytes(mib * MIB // connections))
            connection.shutdown(socket.SHUT_WR)
            told += b"flags 0x" in last_words(connection)
    siege.micromsg2().heard()
    return f"{told:,} of {connections:,} told what they were cut off for, the others had not shaken hands"


_LONG = 0xFFFF
_OUT_OF_MEASURE = {
    "65,535 octets of one-letter extensions": (handshake(b"a;" * (_LONG // 2)), b"more than 255 extensions"),
    "an extension with 16,000 properties": (handshake(b"ack:" + b"a=b," * 16_000), b"more than 255 properties"),
    "a window of 0": (handshake(b"batch-ack:max-count=0"), b"not a window: 0"),
    "a window of -1": (handshake(b"batch-ack:max-count=-1"), b"not a window: -1"),
    "a window of 65,000 digits": (handshake(b"batch-ack:max-count=" + b"9" * 65_000), b"not a window: 999"),
    "a window of 10^9": (handshake(b"batch-ack:max-count=1000000000"), b"batch-ack:max-count=32767"),
    "version 0": (handshake(major=0), b"version 0.0 is not spoken"),
    "an extension of control characters": (handshake(bytes(range(32))), b"unsupported extension"),
    "an ERROR": (b"\x04\x05hello", b""),
}


@attack(
    "{times:,} handshakes of each kind that is out of measure: windows, versions, lists",
    full=scale(memory_mib=16, times=100),
    smoke=scale(memory_mib=16, times=2),
)
def handshakes_out_of_measure(siege: Siege, times: int) -> str:
    """Each gets its answer: an ERROR that says why, or a window that is not larger than ours."""
    for _ in range(times):
        for kind, (octets, answer) in _OUT_OF_MEASURE.items():
            with siege.broker.connect(MICROMSG2) as connection:
                connection.sendall(octets)
                connection.shutdown(socket.SHUT_WR)
                said = last_words(connection)
                assert answer in said, f"to {kind}: {said!r}"
    siege.micromsg2().heard()
    return f"{times * len(_OUT_OF_MEASURE):,} answered as they should be"


@attack(
    "{connections:,} MicroMsg2 connections, each with a handshake of {kib} KiB, which stay",
    full=scale(memory_mib=350, connections=1_000, kib=127),
    smoke=scale(memory_mib=64, connections=50, kib=127),
    open_defect="a turn reads something of each of 1,000 connections",
)
def large_handshakes(siege: Siege, connections: int, kib: int) -> str:
    """What was agreed on is kept as it was written, once, and nothing is kept of what was not."""
    value = b"a" * (kib * KIB // 2 - 64)
    step = handshake(b"batch-ack:max-count=10,note=" + value, b"json:note=" + value)
    before, _ = memory_of(siege.broker)
    assert siege.crowd(connections, MICROMSG2).send(2 * step) == connections
    siege.micromsg2().heard()
    after, _ = memory_of(siege.broker)
    return f"{(after - before) * KIB / connections:,.0f} KiB each"
