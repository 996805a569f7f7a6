"""Whatever a client writes to a real broker harms nobody else. (FMQP, section Processing of incorrect messages)"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests import vectors
from tests.live.broker import Broker
from tests.live.fmqp_client import Client
from tests.protocols.fmqp.packets import packet, publication, subscribe, u32

#: All that clients may write, right or wrong, but the one that rightly ends the broker.
VECTORS = [v for v in vectors.load("fmqp") if v.direction == "client->broker" and v.name != "signal_stop"]
#: After these, the stream is within a packet, and whatever follows belongs to it.
UNFINISHED = {"truncated_at_close", "oversize_length"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One broker bears all of this file."""
    with Broker() as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.text


@pytest.fixture
def bystanders(broker: Broker) -> Iterator[tuple[Client, Client]]:
    """A publisher and its subscriber, who have nothing to do with it."""
    with Client(broker.connect()) as publisher, Client(broker.connect()) as subscriber:
        subscriber.say(subscribe(b"by/standing"))
        assert subscriber.heard() == []
        yield publisher, subscriber


def assert_unharmed(bystanders: tuple[Client, Client]) -> None:
    """What they say to each other still arrives, and nothing else does."""
    publisher, subscriber = bystanders
    publisher.say(publication(b"by/standing", b"still here"))
    assert publisher.heard() == []
    assert subscriber.heard() == [publication(b"by/standing", b"still here")]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_no_vector_harms_anybody(broker: Broker, bystanders: tuple[Client, Client], vector: vectors.Vector) -> None:
    """Nor the client itself: its connection stays, and what it says next is understood."""
    with Client(broker.connect()) as client:
        for octet in vector.octets:
            client.say(bytes([octet]))
        client.say(vector.octets if vector.name not in UNFINISHED else b"")
        if vector.name not in UNFINISHED:
            client.heard()
        assert_unharmed(bystanders)
    assert_unharmed(bystanders)


@pytest.mark.parametrize("seed", range(20))
def test_random_octets_harm_nobody(broker: Broker, bystanders: tuple[Client, Client], seed: int) -> None:
    """In pieces of random length, ended anywhere."""
    at_random = random.Random(seed)
    with Client(broker.connect()) as client:
        for _ in range(50):
            client.say(at_random.randbytes(at_random.randrange(1, 300)))
        assert_unharmed(bystanders)
        (client.reset if seed % 2 else client.close)()
    assert_unharmed(bystanders)


def test_random_packets_harm_nobody(broker: Broker, bystanders: tuple[Client, Client]) -> None:
    """All flags, and topics of few letters that meet; the connection stays."""
    at_random = random.Random(1)
    with Client(broker.connect()) as client:
        for _ in range(3000):
            topic = bytes(at_random.choices(b"ab*/\0\xff", k=at_random.randrange(6)))
            client.say(packet(at_random.randrange(256), topic, at_random.randbytes(at_random.randrange(4))))
        client.heard()
        assert_unharmed(bystanders)


def test_announcements_of_4_gib_harm_nobody(broker: Broker, bystanders: tuple[Client, Client]) -> None:
    """Reading 5: what comes of them is skipped, and not kept."""
    clients = [Client(broker.connect()) for _ in range(50)]
    for client in clients:
        client.say(b"\0\1" + u32(0xFFFF_FFFF) + b"a", bytes(1 << 20))
    assert_unharmed(bystanders)
    for client in clients:
        client.close()
    assert_unharmed(bystanders)
