"""In which order does a bus end softly, and how long can anybody hold it up? (FMQP, ``$/signals/stop``)"""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.errors import Refused
from fmqbus.limits import Limits
from fmqbus.model import Message
from fmqbus.router.service import Router
from fmqbus.testing.bus import LOCAL, MemoryClient, MemoryPeer, make_router

LIMIT = 10.0


def bus(clock: Clock) -> Router:
    """A bus that waits ten seconds at each step."""
    return make_router(clock, limits=Limits(drain_seconds=LIMIT))


def test_the_steps_come_in_the_order_that_the_specification_gives() -> None:
    """Clients are ignored, what was published arrives, wills go out and arrive, then every client is ended."""
    router = bus(Clock())
    reader, other = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    other.set_will(b"w", b"will")
    reader.pause()
    other.publish(b"a", b"published")
    drained = router.drain()
    assert other.calls == reader.calls == ["stop_listening"]
    assert reader.payloads == []
    reader.pause()
    reader.resume()
    assert reader.payloads == [b"published", b"will"]
    assert other.calls == reader.calls == ["stop_listening", "ending drained"]
    assert not drained.called
    other.close()
    reader.close()
    assert drained.called
    assert reader.payloads == [b"published", b"will"]


def test_wills_wait_until_every_reader_has_what_was_published_before() -> None:
    """Also those to readers that are ready."""
    router = bus(Clock())
    slow, quick, leaving = (MemoryClient(router) for _ in range(3))
    for reader in (slow, quick):
        reader.subscribe(b"*")
    leaving.set_will(b"w", b"will")
    slow.pause()
    leaving.publish(b"a", b"1")
    router.drain()
    assert quick.payloads == [b"1"]
    slow.resume()
    assert quick.payloads == slow.payloads == [b"1", b"will"]


def test_clients_are_ended_only_when_the_wills_have_arrived() -> None:
    """A reader that fills up again with the wills is waited for again."""
    router = bus(Clock())
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"w")
    leaving.set_will(b"w", b"will")
    leaving.subscribe(b"x")
    leaving.pause()
    leaving.publish(b"x", b"in the way")
    router.drain()
    reader.pause()
    leaving.resume()
    assert reader.payloads == []
    assert reader.calls == leaving.calls == ["stop_listening"]
    reader.resume()
    assert reader.payloads == [b"will"]
    assert reader.calls == leaving.calls == ["stop_listening", "ending drained"]


def test_a_reader_that_never_reads_holds_each_step_up_for_its_limit_and_no_longer() -> None:
    """Then it is cut off, and the drain ends (reading 45)."""
    clock = Clock()
    router = bus(clock)
    stuck, other = MemoryClient(router), MemoryClient(router)
    stuck.subscribe(b"*")
    other.set_will(b"w", b"will")
    stuck.pause()
    other.publish(b"a", b"x")
    drained = router.drain()
    for _ in ("what was published", "the wills"):
        assert stuck.calls == other.calls == ["stop_listening"]
        clock.advance(LIMIT - 0.1)
        assert stuck.calls == other.calls == ["stop_listening"]
        clock.advance(0.1)
    assert stuck.calls == other.calls == ["stop_listening", "ending drained"]
    other.close()
    clock.advance(LIMIT)
    assert stuck.calls == ["stop_listening", "ending drained", "abort drained"]
    assert other.calls == ["stop_listening", "ending drained"]
    assert not drained.called
    clock.advance(LIMIT)
    assert drained.called
    assert clock.getDelayedCalls() == []


def test_an_idle_bus_drains_at_once() -> None:
    """There is nobody to wait for, and no timer is left."""
    clock = Clock()
    router = bus(clock)
    assert router.drain().called
    assert clock.getDelayedCalls() == []


def test_a_client_that_goes_during_the_drain_is_not_waited_for() -> None:
    """Whatever waited for it."""
    router = bus(Clock())
    slow, other = MemoryClient(router), MemoryClient(router)
    slow.subscribe(b"a")
    slow.pause()
    other.publish(b"a", b"x")
    drained = router.drain()
    other.close()
    slow.close()
    assert drained.called


def test_detached_clients_are_ended_without_a_wait() -> None:
    """Nobody is there to read; a return is refused."""
    clock = Clock()
    router = bus(clock)
    client, other = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    token = client.session.detach(3600.0)
    other.publish(b"a", b"x")
    drained = router.drain()
    assert router.sessions() == (other.session,)
    with pytest.raises(Refused):
        router.resume(token, MemoryPeer(), LOCAL)
    other.close()
    assert drained.called
    clock.advance(0)  # the end of the turn
    assert clock.getDelayedCalls() == []


def test_nobody_new_comes_in_from_the_first_step_on_and_ever_after() -> None:
    """FMQP's step 1, on the bus itself."""
    router = bus(Clock())
    client = MemoryClient(router)
    router.drain()
    with pytest.raises(Refused):
        router.attach(MemoryPeer(), LOCAL)
    client.close()
    with pytest.raises(Refused):
        router.attach(MemoryPeer(), LOCAL)


def test_each_caller_gets_a_drain_of_its_own_to_wait_for() -> None:
    """It happens once; who asks later gets the same end, and who asks after it an end at once."""
    router = bus(Clock())
    client = MemoryClient(router)
    first, second = router.drain(), router.drain()
    assert first is not second
    assert client.calls == ["stop_listening", "ending drained"]
    assert not first.called
    assert not second.called
    client.close()
    assert first.called
    assert second.called
    assert router.drain().called


def test_stopping_the_service_drains_it_and_then_closes_the_store() -> None:
    """In this order: wills may have to be kept."""

    class Store:
        """Remembers what reaches it, and when it is closed."""

        def __init__(self) -> None:
            self.events: list[object] = []

        def put(self, message: Message) -> None:
            self.events.append(message.payload)

        def close(self) -> None:
            self.events.append("closed")

    store = Store()
    router = make_router(retained=store)
    router.startService()
    client = MemoryClient(router)
    client.set_will(b"a", b"will", retain=True)
    stopped = router.stopService()
    assert store.events == [b"will"]
    client.close()
    assert stopped.called
    assert store.events == [b"will", "closed"]
