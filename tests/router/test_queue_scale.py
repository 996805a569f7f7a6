"""What does a message cost while it waits? (The figures of a million are in docs/queues.md.)"""

from __future__ import annotations

import tracemalloc

from fmqbus.model import Message
from fmqbus.testing.bus import MemoryClient, make_router

MESSAGES = 20_000
PAYLOAD_OCTETS = 128


def test_a_message_costs_little_more_than_its_payload() -> None:
    """Less than 450 octets with it."""
    client = MemoryClient(make_router())
    tracemalloc.start()
    try:
        for _ in range(MESSAGES):
            client.session.enqueue(b"q", Message(b"q", bytes(PAYLOAD_OCTETS)))
        client.session.flush()
        octets, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert octets / MESSAGES < 450


def test_an_emptied_queue_gives_its_memory_back() -> None:
    """All but what any bus has."""
    router = make_router()
    client = MemoryClient(router)
    tracemalloc.start()
    try:
        for _ in range(MESSAGES):
            client.session.enqueue(b"q", Message(b"q", bytes(PAYLOAD_OCTETS)))
        router.purge(b"q")
        octets, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert octets < 100_000
