"""What of a queue with very many messages, when one word or one moment concerns them all?"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from fmqbus.limits import MIB
from fmqbus.protocols.fmqp.codec import encode
from tests.adversarial.attack import MICROMSG2, Siege, attack, scale
from tests.adversarial.client import Client, wait_until
from tests.adversarial.measure import memory_of
from tests.live.micromsg2_client import Client as MicroMsg2Client

#: What the project promises of these; elsewhere twice as much is borne.
_STALL_MS = 50.0
_PAYLOAD = b"x" * 128
_QUEUE = b"queue/long"
#: Messages that are sent at once.
_PIECE = 10_000


class Manager:
    """Asks the bus about its queues."""

    def __init__(self, client: Client) -> None:
        self._client = client
        client.subscribe(b"$/manage/reply/manager")

    def ask(self, do: str, queue: str = "long") -> Mapping[str, Any]:
        """Return the answer to one request."""
        request = {"do": do, "queue": queue, "reply": "manager"}
        self._client.send(encode(0, b"$/manage/queues", json.dumps(request).encode()))
        while (packet := self._client.take()).topic != b"$/manage/reply/manager":
            pass
        answer: Mapping[str, Any] = json.loads(packet.body)
        return answer

    def ready(self) -> int:
        """How many messages wait in the queue."""
        return int(self.ask("show").get("queue", {}).get("ready", 0))


def fill(siege: Siege, manager: Manager, messages: int, ends_at: float | None = None) -> float:
    """Put messages into the queue, which all expire at the same moment if one is given; returns how many octets of
    memory each takes."""
    before = memory_of(siege.broker)[0]
    producer = siege.micromsg2()
    number = 0
    for begin in range(0, messages, _PIECE):
        rest = behind_number(b"" if ends_at is None else b"ttl:%.3f" % (ends_at - time.time()))
        frames = []
        for _ in range(min(_PIECE, messages - begin)):
            number = number % 65_535 + 1
            frames.append(b"\0" + number.to_bytes(2, "big") + rest)
        producer.socket.sendall(b"".join(frames))
    wait_until(lambda: manager.ready() == messages, "all messages are in the queue")
    return (memory_of(siege.broker)[0] - before) * MIB / messages


def behind_number(properties: bytes = b"") -> bytes:
    """Return what follows the flags and the number in the frame of such a message."""
    return bytes([len(_QUEUE)]) + _QUEUE + len(properties).to_bytes(2, "big") + properties + b"\x80" + _PAYLOAD


def take(consumer: MicroMsg2Client, messages: int) -> None:
    """Read so many messages, and acknowledge none."""
    octets = messages * (3 + len(behind_number()))
    while octets:
        octets -= len(data := consumer.socket.recv(min(octets, MIB)))
        assert data, "the broker has closed the connection"


@attack(
    "a queue of {messages:,} messages of 128 octets is purged",
    full=scale(memory_mib=100, stall_ms=_STALL_MS, messages=1_000_000),
    smoke=scale(memory_mib=20, messages=20_000),
)
def purge_long_queue(siege: Siege, messages: int) -> str:
    """At an operator's word."""
    manager = Manager(siege.client())
    octets = fill(siege, manager, messages)
    siege.watch.start_anew()
    begun = time.monotonic()
    assert manager.ask("purge") == {"purged": messages}
    took = time.monotonic() - begun
    assert manager.ready() == 0
    return f"each had taken {octets:.0f} octets of memory; all gone in {took:.1f} s"


@attack(
    "{messages:,} messages of 128 octets expire in one moment",
    config='[queues]\ndead_letter = ""\n',
    full=scale(memory_mib=100, stall_ms=_STALL_MS, messages=1_000_000, seconds=90),
    smoke=scale(memory_mib=20, messages=20_000, seconds=5),
)
def expire_long_queue(siege: Siege, messages: int, seconds: int) -> str:
    """And are not wanted as dead letters."""
    manager = Manager(siege.client())
    ends_at = time.time() + seconds
    octets = fill(siege, manager, messages, ends_at)
    assert time.time() < ends_at, "too slow a machine: they began to expire before all were there"
    siege.watch.start_anew()
    while manager.ready() == messages:
        time.sleep(0.05)
    begun = time.monotonic()
    wait_until(lambda: manager.ready() == 0, "all have expired")
    return f"each had taken {octets:.0f} octets of memory; all gone in {time.monotonic() - begun:.1f} s"


@attack(
    "{consumers} consumers that held {held:,} each of {messages:,} messages go at once",
    full=scale(memory_mib=100, stall_ms=_STALL_MS, messages=1_000_000, consumers=20, held=30_000),
    smoke=scale(memory_mib=40, messages=20_000, consumers=3, held=3_000),
)
def consumers_with_many_go(siege: Siege, messages: int, consumers: int, held: int) -> str:
    """All that they held comes back, in order, and the next one gets it first."""
    manager = Manager(siege.client())
    fill(siege, manager, messages)
    with ExitStack() as opened:
        for _ in range(consumers):
            required = f"batch-ack:max-count={held};pubsub"
            consumer = opened.enter_context(MicroMsg2Client(siege.broker.connect(MICROMSG2), required))
            consumer.subscribe(_QUEUE)
            take(consumer, held)
        assert manager.ready() == messages - consumers * held
        siege.watch.start_anew()
        begun = time.monotonic()
    wait_until(lambda: manager.ready() == messages, "all are back")
    took = time.monotonic() - begun
    [first] = manager.ask("peek")["messages"][:1]
    assert first["number"] == 1
    assert first["redelivered"]
    return f"all came back within {took:.1f} s, in order, marked as redelivered"
