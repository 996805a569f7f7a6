"""Is nobody let in before the bus is ready?"""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort, IPushProducer
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.app.readiness import WaitingCarrier
from fmqbus.errors import StoreFailed
from fmqbus.interfaces import ICarrier
from fmqbus.model import PeerFacts


@implementer(IListeningPort)
class VendorsPort:
    """Accepts as soon as it is open."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def startListening(self) -> None:
        self.calls.append("start")

    def getHost(self) -> None:
        return None

    def stopListening(self) -> None:
        self.calls.append("stop")


@implementer(IPushProducer)
class Port(VendorsPort):
    """One of Twisted's, which can be told to leave clients in the kernel's queue."""

    def pauseProducing(self) -> None:
        self.calls.append("pause")

    def resumeProducing(self) -> None:
        self.calls.append("resume")

    def stopProducing(self) -> None:
        self.calls.append("stop")


@implementer(ICarrier)
@attrs.define
class Carrier:
    """Listens at once, or fails to."""

    outcome: Deferred[Any]
    reloads: int = 0

    def fitted(self, factory: Any) -> Any:
        return factory

    def listen(self, factory: Any) -> Deferred[Any]:
        return self.outcome

    def peer_facts(self, transport: Any) -> PeerFacts:
        return PeerFacts("memory", address=transport)

    def reload(self) -> None:
        self.reloads += 1


class Place:
    """A place to listen at, before a bus that is not ready yet."""

    def __init__(self, port: VendorsPort) -> None:
        self.port = port
        self.ready: Deferred[None] = Deferred()
        self.told: list[Any] = []
        self.listening = WaitingCarrier(Carrier(succeed(port)), lambda: self.ready).listen(None)
        self.listening.addBoth(self.told.append)


def test_a_port_is_open_at_once_and_accepts_when_the_bus_is_ready() -> None:
    """Low ports can be opened only at first; clients that come too early wait in the kernel's queue."""
    place = Place(Port())
    assert (place.port.calls, place.told) == (["pause"], [])
    place.ready.callback(None)
    assert (place.port.calls, place.told) == (["pause", "resume"], [place.port])


def test_a_vendors_port_that_cannot_pause_does_no_harm() -> None:
    """What comes too early meets a bus that says so itself."""
    place = Place(VendorsPort())
    place.ready.callback(None)
    assert (place.port.calls, place.told) == ([], [place.port])


@pytest.mark.parametrize("port", [Port(), VendorsPort()], ids=["pausing", "vendor's"])
def test_a_bus_that_does_not_become_ready_closes_the_port(port: VendorsPort) -> None:
    """And whoever waits for it hears why."""
    place = Place(port)
    error = StoreFailed("damaged")
    place.ready.errback(error)
    assert port.calls[-1] == "stop"
    assert [failure.value for failure in place.told] == [error]


def test_a_port_that_is_given_up_before_the_bus_is_ready_is_closed() -> None:
    """A bus may be stopped while its stores are still reading."""
    place = Place(Port())
    place.listening.cancel()
    assert place.port.calls == ["pause", "stop"]
    assert [failure.type for failure in place.told] == [CancelledError]
    place.ready.callback(None)
    assert place.port.calls == ["pause", "stop"]


def test_a_place_that_is_taken_is_told_at_once() -> None:
    """Whatever the stores are doing."""
    told: list[Any] = []
    error = CannotListenError("", 0, OSError())
    WaitingCarrier(Carrier(fail(error)), Deferred).listen(None).addErrback(told.append)
    assert [failure.value for failure in told] == [error]


def test_all_else_is_the_carriers() -> None:
    """What it knows of peers, and its certificates."""
    carrier = Carrier(Deferred())
    waiting = WaitingCarrier(carrier, Deferred)
    assert verifyObject(ICarrier, waiting)
    assert waiting.peer_facts("192.0.2.1").address == "192.0.2.1"
    waiting.reload()
    assert carrier.reloads == 1
