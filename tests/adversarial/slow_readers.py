"""What of subscribers that do not read, while others publish what they have subscribed to?"""

from __future__ import annotations

import signal
import subprocess
import sys

from fmqbus.limits import KIB, MIB
from fmqbus.protocols.fmqp.codec import encode
from tests.adversarial.attack import Siege, attack, scale

#: Of the outbox in these attacks; what the kernel holds for a connection comes on top, but is not the broker's.
_OUTBOX_MIB = 16
_CONFIG = f"[limits]\noutbox_octets = {_OUTBOX_MIB * MIB}\n[outbox]\npolicy = "
#: The outbox, what is on its way from a publisher and to a subscriber, and the bookkeeping of single messages.
_MEMORY_MIB = 2 * _OUTBOX_MIB + 16

_FULL = scale(memory_mib=_MEMORY_MIB, mib=512)
_SMOKE = scale(memory_mib=_MEMORY_MIB, mib=64)

_BODY = bytes(KIB)
_DROPPED = b"$/info/messages/dropped"


def flood(siege: Siege, mib: int) -> int:
    """Publish so much to a subscriber that does not read; returns how many messages that were."""
    publisher = siege.client()
    messages = mib * MIB // len(_BODY)
    thousand = encode(0, b"flood/1", _BODY) * 1024
    for _ in range(messages // 1024):
        publisher.send(thousand)
    publisher.settle()
    return messages


@attack(
    "a subscriber does not read {mib} MiB: drop-oldest", config=f'{_CONFIG}"drop-oldest"\n', full=_FULL, smoke=_SMOKE
)
def drop_oldest(siege: Siege, mib: int) -> str:
    """Aging data: what is newest is kept."""
    deaf, observer = siege.client(), siege.client()
    deaf.subscribe(b"flood/*")
    messages = flood(siege, mib)
    observer.send(encode(0, b"flood/2", b"newest"))
    observer.settle()
    dropped = observer.next_number(_DROPPED)
    got = 0
    while deaf.take().body != b"newest":
        got += 1
    assert got + dropped == messages, f"{got} got and {dropped} dropped of {messages}"
    return f"{dropped:,} of {messages:,} dropped and counted, the newest kept"


@attack(
    "a subscriber does not read {mib} MiB: drop-newest", config=f'{_CONFIG}"drop-newest"\n', full=_FULL, smoke=_SMOKE
)
def drop_newest(siege: Siege, mib: int) -> str:
    """What was first is kept."""
    deaf, observer = siege.client(), siege.client()
    deaf.subscribe(b"flood/*")
    messages = flood(siege, mib)
    dropped = observer.next_number(_DROPPED)
    got = sum(packet.topic == b"flood/1" for packet in deaf.settle())
    assert got + dropped == messages, f"{got} got and {dropped} dropped of {messages}"
    return f"{dropped:,} of {messages:,} dropped and counted, the oldest kept"


@attack("a subscriber does not read {mib} MiB: conflate", config=f'{_CONFIG}"conflate"\n', full=_FULL, smoke=_SMOKE)
def conflate(siege: Siege, mib: int) -> str:
    """The last message of each topic is kept."""
    deaf, observer = siege.client(), siege.client()
    deaf.subscribe(b"flood/*")
    messages = flood(siege, mib)
    observer.send(encode(0, b"flood/1", b"last"))
    observer.settle()
    dropped = observer.next_number(_DROPPED)
    got = 0
    while deaf.take().body != b"last":
        got += 1
    # of the two last ones of this topic, only one is left
    assert got + dropped == messages, f"{got} got and {dropped} dropped of {messages}"
    return f"{dropped:,} of {messages:,} superseded and counted, the last kept"


@attack("a subscriber does not read {mib} MiB: disconnect", config=f'{_CONFIG}"disconnect"\n', full=_FULL, smoke=_SMOKE)
def disconnect(siege: Siege, mib: int) -> str:
    """It learns by its end that it has missed something."""
    deaf, observer = siege.client(), siege.client()
    deaf.subscribe(b"flood/*")
    flood(siege, mib)
    dropped = observer.number(_DROPPED, lambda number: number > 0)
    # the publisher, the observer and the witness are left
    observer.number(b"$/info/clients", lambda clients: clients == 4)
    assert deaf.has_been_closed()
    return f"cut off; {dropped:,} counted as dropped"


@attack("a subscriber does not read {mib} MiB: pause", config=f'{_CONFIG}"pause"\n', full=_FULL, smoke=_SMOKE)
def pause(siege: Siege, mib: int) -> str:
    """The publisher waits, and only it; nothing is lost once the subscriber reads."""
    deaf, publisher = siege.client(), siege.client()
    deaf.subscribe(b"flood/*")
    # in a process of its own, for it will have to wait
    packet = encode(0, b"flood/1", _BODY)
    flooding = subprocess.Popen(
        [sys.executable, "-c", _FLOOD, str(siege.broker.port), packet.hex(), str(mib * KIB)], stdout=subprocess.PIPE
    )
    with flooding:
        # it cannot end before the subscriber reads
        first = deaf.take()
        try:
            flooding.wait(1.0)
            raise AssertionError("the publisher did not have to wait")
        except subprocess.TimeoutExpired:
            pass
        publisher.settle()
        got = 1 + sum(deaf.take().topic == first.topic for _ in range(mib * KIB - 1))
        assert flooding.wait(30) == 0
    return f"the publisher waited; all {got:,} delivered"


_FLOOD = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
packet = bytes.fromhex(sys.argv[2])
for _ in range(int(sys.argv[3]) // 64):
    connection.sendall(packet * 64)
"""


@attack(
    "a subscriber does not read {messages:,} messages of one octet, no two of which go the same way",
    config=f'{_CONFIG}"drop-oldest"\n',
    full=scale(memory_mib=_MEMORY_MIB, messages=2_000_000),
    smoke=scale(memory_mib=_MEMORY_MIB, messages=300_000),
)
def small_messages(siege: Siege, messages: int) -> str:
    """The bound is on memory, whatever it is made of: here each message is kept by itself."""
    deaf, other, publisher = siege.client(), siege.client(), siege.client()
    deaf.subscribe(b"flood/*")
    other.subscribe(b"flood/2")
    flood(siege, mib=8)  # what the kernel holds for a connection
    siege.watch.start_anew()
    pairs = (encode(0, b"flood/1", b"!") + encode(0, b"flood/2", b"!")) * 5_000
    for _ in range(messages // 10_000):
        publisher.send(pairs)
        for _ in range(5_000):
            other.take()
    dropped = publisher.next_number(_DROPPED)
    return f"{dropped:,} of {messages:,} dropped and counted"


@attack(
    "a subscriber's process is stopped (SIGSTOP) during {mib} MiB, then goes on",
    config=f'{_CONFIG}"drop-oldest"\n',
    full=_FULL,
    smoke=_SMOKE,
)
def stopped_process(siege: Siege, mib: int) -> str:
    """As the machine of a debugger or a laptop that sleeps: no socket closes, nothing is read."""
    observer = siege.client()
    reading = subprocess.Popen([sys.executable, "-c", _READ, str(siege.broker.port)], stdout=subprocess.PIPE, text=True)
    with reading:
        assert reading.stdout is not None
        try:
            assert reading.stdout.readline() == "reads\n"
            reading.send_signal(signal.SIGSTOP)
            messages = flood(siege, mib)
            dropped = observer.next_number(_DROPPED)
            reading.send_signal(signal.SIGCONT)
            observer.send(encode(0, b"flood/2", b"newest"))
            assert reading.stdout.readline() == "newest\n"
        finally:
            reading.kill()
    return f"{dropped:,} of {messages:,} dropped and counted; the newest came when it went on"


_READ = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
connection.sendall(bytes.fromhex("800700000000") + b"flood/*" + bytes.fromhex("000700000001") + b"flood/0!")
connection.recv(1)
print("reads", flush=True)
rest = b""
while True:
    rest = rest[-6:] + (connection.recv(1 << 18) or sys.exit("closed"))
    if b"newest" in rest:
        print("newest", flush=True)
"""
