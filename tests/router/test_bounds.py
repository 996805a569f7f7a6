"""What can one client, or all of them, not make the bus hold?"""

from __future__ import annotations

import pytest

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.testing.bus import MemoryClient, make_router


def test_a_client_has_so_many_subscriptions_and_no_more() -> None:
    """Repeating one is none more, and ending one makes room; other clients are not touched."""
    router = make_router(limits=Limits(subscriptions_per_peer=2))
    client, other = MemoryClient(router), MemoryClient(router)
    for pattern in (b"a", b"b", b"a"):
        client.subscribe(pattern)
    with pytest.raises(Overloaded):
        client.subscribe(b"c")
    other.subscribe(b"c")
    client.unsubscribe(b"a")
    client.subscribe(b"c")
    assert set(client.session.subscriptions) == {b"b", b"c"}  # type: ignore[attr-defined]


def test_wildcards_have_a_bound_of_their_own() -> None:
    """They cost at every publication."""
    router = make_router(limits=Limits(wildcards_per_peer=1))
    client = MemoryClient(router)
    for _ in range(3):
        client.subscribe(b"*")
        client.unsubscribe(b"*")
    for pattern in (b"a/*", b"a/*", b"a", b"*b"):
        client.subscribe(pattern)
    with pytest.raises(Overloaded):
        client.subscribe(b"b/*")
    client.unsubscribe(b"a/*")
    client.subscribe(b"b/*")


def test_the_bus_has_so_many_subscriptions_and_no_more() -> None:
    """Of all clients together; those that go give theirs back."""
    router = make_router(limits=Limits(subscriptions=2))
    one, other = MemoryClient(router), MemoryClient(router)
    one.subscribe(b"a")
    other.subscribe(b"a")
    with pytest.raises(Overloaded):
        other.subscribe(b"b")
    one.close()
    assert router.subscriptions == 1
    other.subscribe(b"b")
    assert router.subscriptions == 2


def test_a_wildcard_publication_that_would_look_at_too_much_is_refused_whole() -> None:
    """Nobody gets it, and it is not kept."""
    router = make_router(limits=Limits(match_visits=10))
    reader, writer = MemoryClient(router), MemoryClient(router)
    for number in range(20):
        reader.subscribe(b"a/%d" % number)
    with pytest.raises(Overloaded):
        writer.publish(b"a/*", b"x", retain=True)
    writer.session.flush()
    assert reader.received == []
    assert len(router.retained) == 0
    writer.publish(b"a/7", b"x")
    assert reader.payloads == [b"x"]


def test_nothing_is_left_of_clients_that_came_and_went() -> None:
    """No subscription, watch, route target, timer, or session."""
    router = make_router()
    for _ in range(100):
        client = MemoryClient(router)
        for pattern in (b"a", b"a/*", b"*/*/b"):
            client.subscribe(pattern)
            client.watch(pattern)
        client.publish(b"a", b"x")
        client.set_will(b"w", b"x")
        client.close()
    assert router.sessions() == ()
    assert router.subscriptions == len(router.table.subscriptions) == 0
    assert router.dirty == []
    router.clock.advance(0)  # the end of the turn
    assert router.clock.getDelayedCalls() == []
