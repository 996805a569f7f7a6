"""`fmqbus.client.on_demand`: work that runs only while somebody wants its result."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import deferLater

from fmqbus.errors import Detached
from fmqbus.protocols.fmqp.codec import FEEDBACK, SUBSCRIPTION, UNSUBSCRIBE, Packet
from tests.client.memory_bus import Connection, MemoryBus


class Source:
    """A producer that yields a payload a second, and remembers how often it was started and ended."""

    def __init__(self, bus: MemoryBus) -> None:
        self.started = self.ended = 0
        self._clock = bus.clock

    async def payloads(self) -> AsyncGenerator[bytes, None]:
        self.started += 1
        try:
            for number in range(100):
                yield b"%d" % number
                await deferLater(self._clock, 1.0)
        finally:
            self.ended += 1


def bodies(connection: Connection) -> list[bytes]:
    """The payloads that the client has published."""
    return [packet.body for packet in connection.heard() if not packet.is_subscription]


def test_a_producer_runs_only_while_somebody_listens(bus: MemoryBus) -> None:
    """It starts afresh each time."""
    source = Source(bus)
    bus.client.publish_on_demand("room/temp", source.payloads)
    connection = bus.start()
    bus.clock.pump([1.0] * 3)
    assert source.started == 0
    connection.say_demand(b"room/*", 1)
    bus.clock.pump([1.0] * 2)
    assert bodies(connection) == [b"0", b"1", b"2"]
    connection.say_demand(b"room/*", 0)
    bus.clock.pump([1.0] * 3)
    assert bodies(connection) == []
    assert source.ended == 1
    connection.say_demand(b"room/temp", 1)
    assert bodies(connection) == [b"0"]
    assert source.started == 2


def test_a_coroutine_can_be_the_producer(bus: MemoryBus) -> None:
    """It is cancelled where it waits."""
    cancelled: list[bool] = []

    async def work() -> None:
        try:
            await Deferred()
        except CancelledError:
            cancelled.append(True)
            raise

    running = bus.client.publish_on_demand("a", work)
    connection = bus.start()
    connection.say_demand(b"a", 1)
    connection.say_demand(b"a", 0)
    assert cancelled == [True]
    assert not running.called


def test_two_runs_never_overlap(bus: MemoryBus) -> None:
    """A producer that takes its time to clean up is waited for, whatever the demand does meanwhile."""
    source_started: list[float] = []

    async def work() -> None:
        source_started.append(bus.clock.seconds())
        try:
            await Deferred()
        finally:
            await deferLater(bus.clock, 5.0)

    bus.client.publish_on_demand("a", work)
    connection = bus.start()
    for subscribers in (1, 0, 1):
        connection.say_demand(b"a", subscribers)
    assert source_started == [0.0]
    bus.clock.pump([1.0] * 5)
    assert source_started == [0.0]
    connection.say_demand(b"a", 0)
    connection.say_demand(b"a", 1)
    assert source_started == [0.0, 5.0]


def test_a_producer_that_has_finished_waits_for_new_demand(bus: MemoryBus) -> None:
    """One answer for each time that somebody comes after nobody was there."""

    async def one() -> AsyncGenerator[bytes, None]:
        yield b"x"

    bus.client.publish_on_demand("a", one)
    connection = bus.start()
    connection.say_demand(b"a", 1)
    connection.say_demand(b"a", 2)
    assert bodies(connection) == [b"x"]
    connection.say_demand(b"a", 0)
    connection.say_demand(b"a", 1)
    assert bodies(connection) == [b"x"]


def test_a_failing_producer_is_reported_at_once(bus: MemoryBus) -> None:
    """By the Deferred; the watch ends."""

    async def broken() -> AsyncGenerator[bytes, None]:
        yield b"x"
        raise ZeroDivisionError

    failures: list[type[Exception] | None] = []
    running = bus.client.publish_on_demand("a", broken)
    running.addErrback(lambda reason: failures.append(reason.check(ZeroDivisionError)))
    connection = bus.start()
    connection.say_demand(b"a", 1)
    assert failures == [ZeroDivisionError]
    assert connection.heard()[-1] == Packet(SUBSCRIPTION | UNSUBSCRIBE | FEEDBACK, b"a")


@pytest.mark.parametrize("subscribers", [0, 1])
def test_cancelling_ends_producer_and_watch(bus: MemoryBus, subscribers: int) -> None:
    """Whether it runs or waits."""
    source = Source(bus)
    running = bus.client.publish_on_demand("a", source.payloads)
    failures: list[type[Exception] | None] = []
    running.addErrback(lambda reason: failures.append(reason.check(CancelledError)))
    connection = bus.start()
    connection.say_demand(b"a", subscribers)
    running.cancel()
    assert failures == [CancelledError]
    assert source.ended == source.started == subscribers
    assert connection.heard()[-1] == Packet(SUBSCRIPTION | UNSUBSCRIBE | FEEDBACK, b"a")


def test_a_producer_ends_with_the_client(bus: MemoryBus) -> None:
    """And whoever holds the Deferred is told."""
    source = Source(bus)
    failures: list[type[Exception] | None] = []
    running = bus.client.publish_on_demand("a", source.payloads)
    running.addErrback(lambda reason: failures.append(reason.check(Detached)))
    bus.start().say_demand(b"a", 1)
    bus.client.stopService()
    assert failures == [Detached]
    assert source.ended == 1


def test_a_lost_connection_stops_the_producer_until_it_is_back(bus: MemoryBus) -> None:
    """Nobody hears it meanwhile, and what it would say ages."""
    source = Source(bus)
    bus.client.publish_on_demand("a", source.payloads)
    connection = bus.start()
    connection.say_demand(b"a", 1)
    connection.break_off()
    assert source.ended == 1
    bus.come_back().say_demand(b"a", 1)
    assert source.started == 2


def test_a_producer_goes_no_faster_than_the_connection(bus: MemoryBus) -> None:
    """It waits where it yields, and can be cancelled there."""
    yielded: list[int] = []

    async def flood() -> AsyncGenerator[bytes, None]:
        for number in range(1000):
            yielded.append(number)
            yield b"x"

    bus.client.publish_on_demand("a", flood)
    connection = bus.start()
    connection.fill()
    connection.say_demand(b"a", 1)
    assert len(yielded) == 1
    connection.say_demand(b"a", 0)
    connection.drain()
    assert bodies(connection) == []
    assert len(yielded) == 1
