"""What a read brought may have to wait; what it leads to is then looked up when its turn comes, not before."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from fmqbus.protocols.fmqp.protocol import FMQPProtocol
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.links import MemoryListener
from fmqbus.turns import SHARE_SECONDS
from tests.protocols.fmqp.packets import publication, subscribe


class SlowClock(Clock):
    """A whole share of a turn goes by with each look at it. Calls for later wait until they are asked for."""

    def seconds(self) -> float:
        self.rightNow += SHARE_SECONDS
        return self.rightNow

    def callLater(self, delay: float, callable: Callable[..., object], *args: object, **kw: object) -> IDelayedCall:
        return super().callLater(delay + 1.0, callable, *args, **kw)


def client_of(router: object, clock: Clock) -> FMQPProtocol:
    """A connection in memory."""
    protocol = FMQPProtocol(router, MemoryListener(clock))  # type: ignore[arg-type]
    protocol.makeConnection(StringTransport())
    return protocol


def test_a_run_that_had_to_wait_goes_to_those_who_subscribe_by_then() -> None:
    """Who has left, or may no longer read, gets nothing of it."""
    clock = SlowClock()
    router = make_router(clock)
    stays, leaves = MemoryClient(router), MemoryClient(router)
    for reader in (stays, leaves):
        reader.subscribe(b"a")
    publisher = client_of(router, clock)
    publisher.dataReceived(publication(b"a", b"known"))
    publisher.dataReceived(subscribe(b"x") + publication(b"a", b"waits") + publication(b"b", b"last"))
    assert publisher.is_kept_waiting
    leaves.unsubscribe(b"a")
    for _ in range(10):
        clock.advance(1.0)
    assert not publisher.is_kept_waiting
    assert stays.payloads == [b"known", b"waits"]
    assert leaves.payloads == [b"known"]


def test_a_client_that_asks_for_one_thing_at_a_time_does_not_wait() -> None:
    """However much the share of the turn is used up."""
    clock = SlowClock()
    router = make_router(clock)
    client = client_of(router, clock)
    client.dataReceived(subscribe(b"x"))
    assert not client.is_kept_waiting
    client.dataReceived(publication(b"x", b"1"))
    assert not client.is_kept_waiting
