"""What of consumers that settle nothing or read nothing, and of producers that know no measure?"""

from __future__ import annotations

from threading import Thread

from fmqbus.limits import KIB, MIB
from fmqbus.protocols.fmqp.codec import encode
from fmqbus.protocols.micromsg2.events import ErrorReceived
from fmqbus.protocols.micromsg2.frames import Received
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import wait_until
from tests.adversarial.long_queues import Manager
from tests.adversarial.slow_readers import flood
from tests.adversarial.subscriptions import OWN_SUBSCRIPTIONS
from tests.live.micromsg2_client import Client
from tests.protocols.micromsg2.written import LARGE_PAYLOAD, command, message

_BODY = bytes(KIB)
_BOUND = 1_000
_ACKNOWLEDGED = "batch-ack:max-count=100;pubsub"


def messages_to(destination: bytes, count: int, payload: bytes = _BODY) -> bytes:
    """So many frames in one piece."""
    flags = LARGE_PAYLOAD if len(payload) > 255 else 0
    return b"".join(message(number % 65_535 + 1, destination, payload, flags=flags) for number in range(count))


def consume(client: Client, count: int) -> list[Received]:
    """Take so many messages, and accept them some at a time."""
    taken = []
    for number in range(1, count + 1):
        taken.append(client.hear_message())
        if number % 50 == 0 or number == count:
            client.accept(taken[-1].number)
    return taken


@attack(
    "a consumer takes {window:,} of {messages:,} messages and never says a word, then goes",
    full=scale(memory_mib=160, messages=100_000, window=30_000),
    smoke=scale(memory_mib=48, messages=5_000, window=1_000),
)
def consumer_never_acknowledges(siege: Siege, messages: int, window: int) -> str:
    """It holds its window and no more; the next one gets all others, and in the end those too, with a mark."""
    manager, producer = Manager(siege.client()), siege.micromsg2()
    producer.socket.sendall(messages_to(b"queue/long", messages, b"x" * 64))
    wait_until(lambda: manager.ready() == messages, "all are in the queue")
    silent = siege.micromsg2(f"batch-ack:max-count={window};pubsub")
    silent.subscribe(b"queue/long")
    wait_until(lambda: manager.ready() == messages - window, "it has its window")
    other = siege.micromsg2(_ACKNOWLEDGED)
    other.subscribe(b"queue/long")
    assert not any(b"redelivered" in taken.properties for taken in consume(other, messages - window))
    silent.close()
    assert all(b"redelivered" in taken.properties for taken in consume(other, window))
    return f"held {window:,}; the next one got the others, then those, marked"


def deaf_subscriber(siege: Siege, mib: int, required: str) -> str:
    """One that subscribes and does not read. What it missed is counted, what is newest is kept."""
    deaf, observer = siege.micromsg2(required), siege.client()
    deaf.subscribe(b"topic/flood/*")
    observer.number(b"$/info/subscriptions", lambda number: number > OWN_SUBSCRIPTIONS)
    messages = flood(siege, mib)
    observer.send(encode(0, b"flood/2", b"newest"))
    observer.settle()
    dropped = observer.next_number(b"$/info/messages/dropped")
    got = 0
    while (taken := deaf.hear_message()).payload != b"newest":
        got += 1
        if required != "pubsub":
            deaf.accept(taken.number)
    assert got + dropped == messages, f"{got} got and {dropped} dropped of {messages}"
    return f"{dropped:,} of {messages:,} dropped and counted, the newest kept"


_OUTBOX_MIB = 16
_SLOW = f"[limits]\noutbox_octets = {_OUTBOX_MIB * MIB}\n"


@attack(
    "a MicroMsg2 subscriber does not read {mib} MiB",
    config=_SLOW,
    full=scale(memory_mib=2 * _OUTBOX_MIB + 16, mib=512),
    smoke=scale(memory_mib=2 * _OUTBOX_MIB + 16, mib=64),
)
def subscriber_never_reads(siege: Siege, mib: int) -> str:
    """Its link is full, and its outbox soon."""
    return deaf_subscriber(siege, mib, "pubsub")


@attack(
    "a MicroMsg2 subscriber acknowledges nothing of {mib} MiB",
    config=_SLOW,
    full=scale(memory_mib=2 * _OUTBOX_MIB + 16, mib=512),
    smoke=scale(memory_mib=2 * _OUTBOX_MIB + 16, mib=64),
)
def subscriber_never_acknowledges(siege: Siege, mib: int) -> str:
    """Its window is full while its link has room."""
    return deaf_subscriber(siege, mib, _ACKNOWLEDGED)


@attack(
    "a consumer without acknowledgements does not read, of a queue of {messages:,} messages",
    full=scale(memory_mib=160, messages=100_000),
    smoke=scale(memory_mib=64, messages=20_000),
)
def consumer_never_reads(siege: Siege, messages: int) -> str:
    """It gets what its link takes, and is passed over from then on: the next one gets all others."""
    manager, producer = Manager(siege.client()), siege.micromsg2()
    deaf = siege.micromsg2()
    deaf.subscribe(b"queue/long")
    producer.socket.sendall(messages_to(b"queue/long", messages))
    producer.heard()
    other = siege.micromsg2(_ACKNOWLEDGED)
    waiting = manager.ready()
    assert waiting > messages // 2
    other.subscribe(b"queue/long")
    consume(other, waiting)
    assert manager.ask("show")["queue"]["accepted"] == messages
    return f"{messages - waiting:,} went to its link, the other {waiting:,} to the next consumer"


def _bounds(overflow: str) -> str:
    return f'[queues]\nmax_messages = {_BOUND}\noverflow = "{overflow}"\n'


@attack(
    "producers send {messages:,} messages to a queue that holds 1,000: refuse",
    config=_bounds("refuse"),
    full=scale(memory_mib=48, messages=100_000),
    smoke=scale(memory_mib=32, messages=10_000),
)
def queue_full_refuse(siege: Siege, messages: int) -> str:
    """With acknowledgements the first one refused is the end; without, each is told."""
    manager, brief, stubborn = Manager(siege.client()), siege.micromsg2(_ACKNOWLEDGED), siege.micromsg2()
    brief.socket.sendall(messages_to(b"queue/long", 2 * _BOUND))
    end = [event for event in iter(brief.hear, None) if isinstance(event, ErrorReceived)]
    assert [event.text for event in end] == [f"message {_BOUND + 1}: the queue is full"]
    stubborn.socket.sendall(messages_to(b"queue/long", messages))
    wait_until(lambda: manager.ask("show")["queue"]["refused"] == messages + 1, "all are refused")
    assert manager.ready() == _BOUND
    return f"{_BOUND:,} taken, {messages + 1:,} refused and told"


@attack(
    "a producer sends {messages:,} messages to a queue that holds 1,000: pause",
    config=_bounds("pause"),
    full=scale(memory_mib=32, messages=100_000),
    smoke=scale(memory_mib=32, messages=20_000),
)
def queue_full_pause(siege: Siege, messages: int) -> str:
    """The producer waits, and only it; nothing is lost once somebody consumes."""
    manager, producer, consumer = Manager(siege.client()), siege.micromsg2(), siege.micromsg2(_ACKNOWLEDGED)
    sending = Thread(target=producer.socket.sendall, args=[messages_to(b"queue/long", messages)], daemon=True)
    sending.start()
    sending.join(1.0)
    assert sending.is_alive(), "the producer did not have to wait"
    held = manager.ready()
    assert _BOUND <= held <= 2 * _BOUND
    consumer.subscribe(b"queue/long")
    consume(consumer, messages)
    sending.join()
    return f"the producer waited at {held:,}; all {messages:,} delivered"


@attack(
    "a producer sends {messages:,} messages to a queue that holds 1,000: drop-oldest",
    config=_bounds("drop-oldest"),
    full=scale(memory_mib=32, messages=100_000),
    smoke=scale(memory_mib=32, messages=10_000),
)
def queue_full_drop_oldest(siege: Siege, messages: int) -> str:
    """What is newest is kept."""
    manager, producer, consumer = Manager(siege.client()), siege.micromsg2(), siege.micromsg2(_ACKNOWLEDGED)
    producer.socket.sendall(messages_to(b"queue/long", messages - 1) + message(1, b"queue/long", b"newest"))
    producer.heard()
    dropped = manager.ask("show")["queue"]["dropped"]
    assert dropped == messages - _BOUND
    consumer.subscribe(b"queue/long")
    assert consume(consumer, _BOUND)[-1].payload == b"newest"
    return f"{dropped:,} dropped and counted, the newest kept"


@attack(
    "a producer sends {messages:,} messages to a queue that holds 1,000: dead-letter",
    config=_bounds("dead-letter"),
    full=scale(memory_mib=48, messages=100_000),
    smoke=scale(memory_mib=32, messages=10_000),
)
def queue_full_dead_letter(siege: Siege, messages: int) -> str:
    """The queue of dead letters has a bound as well; where that is full too, the producer is told no."""
    manager, producer = Manager(siege.client()), siege.micromsg2()
    producer.socket.sendall(messages_to(b"queue/long", messages))
    producer.heard()
    queue, dead = manager.ask("show")["queue"], manager.ask("show", "dead")["queue"]
    assert (queue["ready"], dead["ready"], queue["refused"]) == (_BOUND, _BOUND, messages - 2 * _BOUND)
    return f"{_BOUND:,} kept, {_BOUND:,} dead letters, {queue['refused']:,} refused and told"


_MOST_QUEUES = 10_000


@attack(
    "one client consumes {names:,} queues, each for a moment, and sends to as many, where 10,000 may be",
    config=f"[limits]\nqueues = {_MOST_QUEUES}\n",
    full=scale(memory_mib=64, names=100_000),
    smoke=scale(memory_mib=48, names=12_000),
)
def storm_of_queue_names(siege: Siege, names: int) -> str:
    """Those that are empty again are gone; of those with a message in them, the ones too many are refused."""
    manager, client = Manager(siege.client()), siege.micromsg2()
    client.hear()
    for begin in range(0, names, 1_000):
        numbers = range(begin, begin + 1_000)
        brief = (command(word + b";queue=%d" % number) for number in numbers for word in (b"subscribe", b"unsubscribe"))
        client.socket.sendall(b"".join(brief))
    assert client.heard() == []
    for begin in range(0, names, 1_000):
        numbers = range(begin, begin + 1_000)
        client.socket.sendall(b"".join(message(1, b"queue/%d" % number, b"!") for number in numbers))
    refused = len(client.heard())
    assert refused == names - _MOST_QUEUES
    assert "queue" in manager.ask("show", str(_MOST_QUEUES - 1))
    assert "queue" not in manager.ask("show", str(_MOST_QUEUES))
    return f"none left of those that were empty, {refused:,} refused and told"
