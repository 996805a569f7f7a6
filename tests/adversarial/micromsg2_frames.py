"""What of MicroMsg2 frames that lie, never end, or acknowledge what was never sent?"""

from __future__ import annotations

import random
from itertools import cycle

from fmqbus.limits import MIB
from fmqbus.protocols.micromsg2.events import ErrorReceived
from tests.adversarial.attack import MICROMSG2, Siege, attack, scale
from tests.adversarial.client import wait_until
from tests.live.micromsg2_client import Client
from tests.protocols.micromsg2.written import (
    COMMAND,
    CONTINUED,
    ERROR,
    EXTENSION,
    LARGE_PAYLOAD,
    command,
    extension,
    handshake,
    message,
    u16,
)

_OPENING = 2 * handshake(b"pubsub")
_FOUR_GIB = b"\xff\xff\xff\xff"


def end_of(client: Client) -> str:
    """The ERROR that the broker has cut this client off with."""
    said = list(iter(client.hear, None))
    assert said, "nothing was said"
    assert isinstance(said[-1], ErrorReceived), f"the last word was {said[-1]!r}"
    return said[-1].text


@attack(
    "{connections:,} MicroMsg2 connections each announce 4 GiB in a frame, of every kind",
    full=scale(memory_mib=16, connections=1_000),
    smoke=scale(memory_mib=8, connections=40),
)
def lying_lengths(siege: Siege, connections: int) -> str:
    """Known by the head of the frame, and cut off before anything is held (threats, row 1)."""
    heads = cycle(
        [
            bytes([LARGE_PAYLOAD]) + u16(1) + b"\x01q" + u16(0),
            bytes([LARGE_PAYLOAD | CONTINUED]) + u16(1) + b"\x00" + u16(0),
            bytes([LARGE_PAYLOAD | COMMAND]),
            bytes([LARGE_PAYLOAD | EXTENSION, 1]),
            bytes([LARGE_PAYLOAD | ERROR]),
        ]
    )
    for _ in range(connections):
        with Client(siege.broker.connect(MICROMSG2)) as liar:
            liar.socket.sendall(next(heads) + _FOUR_GIB)
            assert end_of(liar) == "larger than is allowed here"
    return f"all {connections:,} cut off with an ERROR"


@attack(
    "{connections:,} MicroMsg2 connections each leave a message of {mib} MiB, in frames of 1 MiB, one octet short",
    full=scale(memory_mib=2 * 256, connections=100, mib=16, limit_mib=256),
    smoke=scale(memory_mib=2 * 256, connections=20, mib=16, limit_mib=256),
)
def almost_complete_messages(siege: Siege, connections: int, mib: int, limit_mib: int) -> str:
    """`Limits.assembly_octets` bounds what is not whole yet, whatever protocol it comes by."""
    crowd = siege.crowd(connections, MICROMSG2)
    frames = [
        message(number, b"q", bytes(MIB), flags=LARGE_PAYLOAD | (CONTINUED if number < mib else 0))
        for number in range(1, mib + 1)
    ]
    crowd.send(_OPENING + b"".join(frames)[:-1])
    whole = limit_mib // mib
    wait_until(lambda: crowd.closed() >= connections - whole, "the broker cuts the others off")
    cut = crowd.closed()
    assert cut < connections, "somebody is still let finish"
    return f"{cut:,} cut off at {limit_mib} MiB in all, the other {connections - cut} kept"


@attack(
    "a message of {frames:,} continued frames, and one of as many that never ends",
    full=scale(memory_mib=96, frames=100_000, octets=160),
    smoke=scale(memory_mib=96, frames=10_000, octets=1_600),
)
def continued_frames(siege: Siege, frames: int, octets: int) -> str:
    """The first arrives whole. The other is over when it is larger than any message may be (`Limits.body_octets`)."""
    subscriber, publisher, endless = siege.micromsg2(), siege.micromsg2(), siege.micromsg2()
    subscriber.subscribe(b"topic/parts")
    subscriber.heard()
    part = message(1, b"topic/parts", bytes(octets), flags=LARGE_PAYLOAD | CONTINUED)
    publisher.socket.sendall(part * (frames - 1) + message(2, b"topic/parts", bytes(octets), flags=LARGE_PAYLOAD))
    assert subscriber.hear_message().payload == bytes(frames * octets)
    try:
        endless.socket.sendall(part * (2 * frames))
    except ConnectionError:
        """Cut off while we were at it."""
    wait_until(lambda: _is_over(endless), "the endless message is over")
    return "the first delivered whole, the other cut off"


def _is_over(client: Client) -> bool:
    try:
        return client.read() is None
    except ConnectionError:
        return True


@attack(
    "{times:,} acknowledgements of what was never sent, of 0, twice, from behind, and of three octets",
    config="[queues]\nmax_messages = 1000000\n",
    full=scale(memory_mib=32, times=200_000),
    smoke=scale(memory_mib=16, times=5_000),
)
def false_acknowledgements(siege: Siege, times: int) -> str:
    """They open no window and settle nothing (reading 40); those that are none are told so."""
    window = 10
    consumer, producer = siege.micromsg2(f"batch-ack:max-count={window};pubsub"), siege.micromsg2()
    for number in range(100):
        producer.send(b"queue/work", b"%d" % number)
    consumer.subscribe(b"queue/work")
    first = consumer.hear_message()
    for _ in range(window - 1):
        consumer.hear_message()
    consumer.accept(first.number)
    chosen = random.Random(3)
    numbers = [0, 1, 1, *chosen.choices(range(window + 2, 65_536), k=97)]
    false = b"".join(extension(1, u16(number)) for number in numbers)
    for _ in range(times // 100):
        consumer.socket.sendall(false)
    consumer.socket.sendall(extension(1, b"\0\0\0"))
    heard = []
    while not isinstance(event := consumer.hear(), ErrorReceived):
        heard.append(event)
    assert event.text == "an acknowledgement has 2 octets"
    assert [message.payload for message in heard] == [b"%d" % window], "a window was opened"
    consumer.close()
    other = siege.micromsg2("batch-ack:max-count=200;pubsub")
    other.subscribe(b"queue/work")
    assert [other.hear_message().payload for _ in range(99)] == [b"%d" % number for number in range(1, 100)]
    return "all ignored: one of 100 messages was settled, the one that was acknowledged"


def _random_frames(chosen: random.Random, frames: int) -> bytes:
    """Frames that are well enough made to be looked at."""
    words = [b"", b"topic/a", b"topic/a/*", b"queue/q", b"q", b"topic/$/info/clients", b"\xff", b"topic/" + b"x" * 249]
    texts = [
        b"subscribe;topic=a/%d" % chosen.randrange(50),
        b"subscribe;queue=q,filter=p=N1",
        b"subscribe;topic=a,filter=p%3DN1,filter=q%26Tx",
        b"unsubscribe;topic=a",
        b"unsubscribe",
        b"nonsense;a=b",
        b"",
    ]
    made = []
    for _ in range(frames):
        kind = chosen.randrange(6)
        if kind == 0:
            made.append(command(chosen.choice(texts)))
        elif kind == 1:
            made.append(extension(chosen.randrange(4), chosen.randbytes(chosen.choice((0, 2, 2, 2, 3)))))
        else:
            properties = chosen.choice(
                (b"", b"p:N1;q:Tx", b"retain:1", b"will:1", b"ttl:0.01;delay:x", b"p:N\xff;;:;a")
            )
            payload = chosen.randbytes(chosen.choice((0, 1, 200)))
            number = chosen.randrange(65_536)
            made.append(message(number, chosen.choice(words), payload, properties, chosen.choice((0, 0, 0, CONTINUED))))
    return b"".join(made)


@attack(
    "{frames:,} random frames of all kinds over {connections} MicroMsg2 connections at once",
    config="[queues]\nmax_messages = 1000\noverflow = 'drop-oldest'\n",
    full=scale(memory_mib=96, frames=200_000, connections=50),
    smoke=scale(memory_mib=64, frames=5_000, connections=10),
)
def random_frames(siege: Siege, frames: int, connections: int) -> str:
    """Commands, acknowledgements, parts and messages in all combinations, from clients that also receive."""
    chosen = random.Random(2)
    crowd = siege.crowd(connections, MICROMSG2)
    crowd.send(2 * handshake(b"pubsub;dotnet"))
    for _ in range(10):
        crowd.send(_random_frames(chosen, frames // connections // 10))
        assert crowd.closed() == 0
    crowd.__exit__()
    siege.micromsg2().heard()
    dropped = siege.client().next_number(b"$/info/messages/dropped")
    return f"{dropped:,} dropped and counted, nobody cut off"


@attack(
    "{times:,} messages whose properties hold every control character, or are 65,535 octets of nothing sensible",
    full=scale(memory_mib=64, times=500),
    smoke=scale(memory_mib=64, times=50),
)
def control_characters(siege: Siege, times: int) -> str:
    """Handed on octet by octet to those who have properties, bearable for filters, and not in the log."""
    subscriber, picky, publisher, reader = siege.micromsg2(), siege.micromsg2(), siege.micromsg2(), siege.client()
    subscriber.subscribe(b"topic/odd")
    picky.subscribe(b"topic/odd", "p=Tx", "\x1b[2J!=N1")
    picky.subscribe(b"topic/odd/2", "p~Tx", "q!=N1")
    reader.subscribe(b"odd")
    subscriber.heard()
    every = bytes(range(32)) + b"\x7f\x80\xff"
    kinds = [b"p:T" + every, every + b":Tx", b"p:Tx;" + every, b";:" * 32_767, b"p:N" + b"9" * 65_000, b"\x1b[2J;" * 9]
    written = [message(number + 1, b"topic/odd", b"x", kinds[number % len(kinds)]) for number in range(times)]
    publisher.socket.sendall(b"".join(written))
    publisher.socket.sendall(b"\x04\x06\x1b[2J\r\n")
    for number in range(times):
        assert subscriber.hear_message().properties == kinds[number % len(kinds)]
    assert sum(reader.take().body == b"x" for _ in range(times)) == times
    end = [event for event in picky.heard() if isinstance(event, ErrorReceived)]
    assert len(end) == 1, "a name that no property can have is no filter"
    assert "\x1b" not in siege.broker.text
    return "all handed on as they were"
