"""What of clients when the broker stops or dies, and of the broker when clients hold it up?"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from fmqbus.limits import MIB
from fmqbus.protocols.fmqp.codec import LAST_WILL, encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import Client
from tests.live.broker import Broker

_DRAIN_SECONDS = 1


@attack(
    "a soft stop with {mib} MiB under way to a subscriber that does not read",
    config=f"[limits]\ndrain_seconds = {_DRAIN_SECONDS}\nlinger_seconds = 0.5\n",
    full=scale(memory_mib=160, mib=256),
    smoke=scale(memory_mib=160, mib=64),
    ends_broker=True,
)
def soft_stop(siege: Siege, mib: int) -> str:
    """Others get all there is, wills too; the one that does not read cannot hold up the end."""
    deaf, heir, testator = siege.client(), siege.client(), siege.client()
    deaf.subscribe(b"flood")
    heir.subscribe(b"will")
    testator.send(encode(LAST_WILL, b"will", b"bye"))
    for _ in range(mib):
        testator.send(encode(0, b"flood", bytes(MIB)))
    testator.settle()
    siege.watch.end()
    begun = time.monotonic()
    code = siege.broker.stop()
    seconds = time.monotonic() - begun
    assert code == 0
    assert heir.take().body == b"bye"
    # two waits for deliveries, one for the end of connections, and one second for a busy machine
    assert seconds < 3 * _DRAIN_SECONDS + 1, f"it took {seconds:.1f} s"
    return f"ended with success after {seconds:.1f} s, the will was delivered"


_RECONNECTING = """
import sys
from twisted.internet import reactor
from fmqbus.client.fmqp import FMQPClient
client = FMQPClient(sys.argv[1], reactor)

def heard(message):
    if message.payload != b"load":
        print(message.payload.decode(), flush=True)

client.subscribe("load", callback=heard)
client.startService()
reactor.run()
"""


@attack(
    "{times} times the broker is killed (SIGKILL) under load and started anew",
    full=scale(memory_mib=8, times=5),
    smoke=scale(memory_mib=8, times=1),
    ends_broker=True,
)
def restarts(siege: Siege, times: int) -> str:
    """What was under way is lost; the client comes back by itself, subscribes again, and hears what is published."""
    port = siege.broker.port
    command = [sys.executable, "-c", _RECONNECTING, f"fmqp://127.0.0.1:{port}"]
    waits = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            _until_heard(child, siege.client(), b"before")
            siege.watch.end()
            _kill_under_load(siege.broker, siege.client())
            for number in range(times):
                with Broker("--listen", f"fmqp:tcp:{port}") as broker, Client(broker.connect()) as publisher:
                    begun = time.monotonic()
                    _until_heard(child, publisher, b"after %d" % number)
                    waits.append(time.monotonic() - begun)
                    _kill_under_load(broker, publisher)
        finally:
            child.kill()
    return f"heard again at the latest {max(waits):.1f} s after the broker listened"


def _until_heard(child: subprocess.Popen[str], publisher: Client, message: bytes) -> None:
    """Publish until the child has printed this message."""
    assert child.stdout is not None
    # the publisher's own, with which it asks, and that of the child; the witness has two, as long as it is there
    publisher.number(b"$/info/subscriptions", lambda number: number in (2, 4))
    publisher.send(encode(0, b"load", message))
    while (line := child.stdout.readline()) != message.decode() + "\n":
        assert line, "the client has ended"


def _kill_under_load(broker: Broker, publisher: Client) -> None:
    """Let the broker die in the middle of what it is sent."""
    publisher.send(encode(0, b"load", b"load") * 10_000)
    broker.signal(signal.SIGKILL)
    assert broker.wait() == -signal.SIGKILL
