"""`fmqbus.client.fmqp`: the connection that a client keeps up."""

from __future__ import annotations

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.interfaces import IPushProducer
from zope.interface.verify import verifyObject

from fmqbus.client.fmqp_link import FMQPLink
from fmqbus.protocols.fmqp.codec import Packet
from tests.client.conftest import MakeBus
from tests.client.memory_bus import MemoryBus


def test_the_client_comes_back_after_a_lost_connection(bus: MemoryBus) -> None:
    """After the time that the policy says, again and again."""
    bus.start()
    for lost in (1, 2, 3):
        bus.connection.break_off()
        assert not bus.client.is_connected
        bus.clock.advance(0.5)
        assert len(bus.connections) == lost
        bus.clock.advance(0.5)
        assert len(bus.connections) == lost + 1
        assert bus.client.is_connected


def test_the_client_goes_on_trying(bus: MemoryBus) -> None:
    """Whoever waits for the connection waits."""
    bus.is_down = True
    bus.client.startService()
    waiting = Deferred.fromCoroutine(bus.client.when_connected())
    bus.clock.pump([1.0] * 5)
    assert bus.attempts == 6
    assert not waiting.called
    bus.is_down = False
    bus.clock.pump([1.0, 0.0])
    assert waiting.called


def test_waiting_can_end_with_the_first_failure(bus: MemoryBus) -> None:
    """Then it tells what the attempt failed with, and the client may be stopped on the spot."""
    bus.is_down = True
    ended: list[object] = []

    async def main() -> None:
        bus.client.startService()
        try:
            await bus.client.when_connected(attempts=1)
        except ConnectionRefusedError as error:
            ended.append(error)
        finally:
            await bus.client.stopService()

    done = Deferred.fromCoroutine(main())
    bus.clock.pump([0.0, 1.0, 0.0])
    assert done.called
    assert len(ended) == 1


def test_waiting_ends_when_the_client_stops(bus: MemoryBus) -> None:
    """By cancellation, as ClientService has it."""
    bus.is_down = True
    bus.client.startService()
    waiting = Deferred.fromCoroutine(bus.client.when_connected())
    bus.client.stopService()
    bus.clock.advance(0)
    failures: list[type[Exception] | None] = []
    waiting.addErrback(lambda reason: failures.append(reason.check(CancelledError)))
    assert failures == [CancelledError]


def test_stopping_closes_in_good_order(bus: MemoryBus) -> None:
    """TLS does not close while there is a producer, so it is taken away first."""
    connection = bus.start()
    gone = bus.client.when_disconnected()
    stopped = bus.client.stopService()
    assert connection.disconnecting
    assert connection.producer is None
    assert not stopped.called
    bus.clock.advance(0)
    assert stopped.called
    assert gone.called
    assert not connection.is_aborted
    assert bus.clock.getDelayedCalls() == []


def test_a_bus_that_does_not_read_is_cut_off(make_bus: MakeBus) -> None:
    """Stopping does not last for ever."""
    bus = make_bus(drain_seconds=3.0)
    connection = bus.start()
    connection.reads = False
    stopped = bus.client.stopService()
    bus.clock.advance(2.9)
    assert not stopped.called
    bus.clock.pump([0.1, 0.0])
    assert stopped.called
    assert connection.is_aborted


def test_a_stopped_client_can_be_started_again(bus: MemoryBus) -> None:
    """It has forgotten what it was asked for."""
    bus.client.subscribe("a")
    bus.client.demand("b")
    bus.client.set_will("c", b"x")
    bus.start()
    bus.client.stopService()
    bus.clock.advance(0)
    bus.is_down = True
    bus.start()
    published = bus.client.publish("a", b"x")
    bus.is_down = False
    assert bus.come_back().heard() == [Packet(0, b"a", b"x")]
    assert published.called


def test_a_link_is_a_push_producer(bus: MemoryBus) -> None:
    """As transports want it."""
    bus.start()
    assert isinstance(bus.connection.producer, FMQPLink)
    assert verifyObject(IPushProducer, bus.connection.producer)
