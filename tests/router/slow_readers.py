"""Slow clients, and messages that are easy to count: ten octets each, a topic of one and a payload of nine."""

from __future__ import annotations

from typing import Any

from fmqbus.limits import Limits
from fmqbus.router.outbox import ITEM_OCTETS
from fmqbus.router.service import Router
from fmqbus.router.session import Session
from fmqbus.testing.bus import MemoryClient, make_router


def room_for(messages: int, octets: int = 10) -> Limits:
    """Limits by which an outbox keeps just so many messages of so many octets, topic and payload."""
    return Limits(outbox_octets=messages * (octets + ITEM_OCTETS))


def body(number: int) -> bytes:
    """A payload of nine octets."""
    return b"%09d" % number


def bus_with_room_for(messages: int, **options: Any) -> Router:
    """A bus whose outboxes keep just so many of them."""
    return make_router(limits=room_for(messages), **options)


def numbers(client: MemoryClient) -> list[int]:
    """Which of them a client got."""
    return [int(payload) for payload in client.payloads]


def session_of(client: MemoryClient) -> Session:
    """The session, as the router knows it."""
    assert isinstance(client.session, Session)
    return client.session


def publish_numbers(client: MemoryClient, first: int, last: int, topic: bytes = b"a") -> None:
    """One read each."""
    for number in range(first, last + 1):
        client.publish(topic, body(number))


class Narrow(MemoryClient):
    """Its link is full again after each batch."""

    def deliver(self, batch: Any) -> None:
        super().deliver(batch)
        self.session.pause_delivery()
