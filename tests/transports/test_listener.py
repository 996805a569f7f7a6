"""Who is let in, and what does a listener do when it is full, fails, or stops?"""

from __future__ import annotations

from typing import Any

from twisted.application.service import MultiService
from twisted.internet.defer import Deferred
from twisted.internet.error import CannotListenError
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IListener
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts
from fmqbus.transports.listener import Listener
from tests.transports.memory import MemoryCarrier, MemoryConnection, QuietProtocol

LOCAL = PeerFacts("tcp", address="127.0.0.1", is_local=True)
FAR = PeerFacts("tcp", address="192.0.2.1")


def make_listener(carrier: MemoryCarrier | None = None, clock: Clock | None = None, **limits: Any) -> Listener:
    """A listener over memory ends."""
    return Listener(
        clock or Clock(),
        QuietProtocol(),
        carrier or MemoryCarrier(),
        router=None,  # type: ignore[arg-type]  # a listener only hands it on
        limits=Limits(**limits),
        options={},
        description="quiet:tcp:0",
        parts=lambda interface: (),
    )


def test_a_listener_is_what_protocols_expect() -> None:
    """It provides every method of `IListener`."""
    assert verifyObject(IListener, make_listener())


def test_starting_listens_and_stopping_closes_the_port() -> None:
    """A service as others: the port is there in between only."""
    carrier = MemoryCarrier()
    listener = make_listener(carrier)
    assert listener.port is None
    listener.startService()
    assert listener.port is carrier.port
    listener.stopService()
    assert listener.port is None
    assert not carrier.port.is_open


def test_a_stopped_listener_can_start_again() -> None:
    """As Twisted's services can."""
    listener = make_listener()
    listener.startService()
    listener.stopService()
    listener.startService()
    assert listener.port is not None


def test_privileges_are_used_to_listen_once() -> None:
    """A low port is bound before privileges are shed, and not a second time after."""
    carrier = MemoryCarrier()
    application = MultiService()
    listener = make_listener(carrier)
    listener.setServiceParent(application)
    application.privilegedStartService()
    carrier.answer = Deferred()  # a second listen would wait for ever
    application.startService()
    assert listener.port is carrier.port


def test_everybody_who_waits_for_the_port_gets_it() -> None:
    """Early and late callers of `when_listening` have Deferreds of their own."""
    carrier = MemoryCarrier(answer=Deferred())
    listener = make_listener(carrier)
    got: list[Any] = []
    listener.when_listening().addCallback(got.append)
    listener.startService()
    listener.when_listening().addCallback(got.append)
    assert got == []
    assert carrier.answer is not None
    carrier.answer.callback(carrier.port)
    listener.when_listening().addCallback(got.append)
    assert got == [carrier.port] * 3


def test_a_taken_address_is_told_to_all_who_wait() -> None:
    """The failure reaches the application, which may then exit with an error."""
    carrier = MemoryCarrier(answer=Deferred())
    listener = make_listener(carrier)
    failures: list[Any] = []
    listener.when_listening().addErrback(failures.append)
    listener.startService()
    assert carrier.answer is not None
    carrier.answer.errback(CannotListenError("127.0.0.1", 7700, OSError("in use")))
    listener.when_listening().addErrback(failures.append)
    assert [failure.type for failure in failures] == [CannotListenError] * 2


def test_a_stop_ends_the_wait_for_a_port() -> None:
    """A carrier that never answers does not keep the broker from stopping."""
    carrier = MemoryCarrier(answer=Deferred())
    listener = make_listener(carrier)
    failures: list[Any] = []
    listener.when_listening().addErrback(failures.append)
    listener.startService()
    stopped: list[Any] = []
    listener.stopService().addCallback(stopped.append)
    assert stopped == [None]
    assert len(failures) == 1


def test_a_stop_leaves_connections_alone() -> None:
    """It is the router that drains them."""
    listener = make_listener()
    listener.startService()
    connection = MemoryConnection()
    listener.opened(connection, FAR)
    listener.stopService()
    assert connection.ended == []
    listener.closed(connection, FAR)
    assert listener.connections == 0


def test_a_full_listener_stops_accepting_until_one_goes() -> None:
    """New connections wait in the kernel's queue meanwhile."""
    carrier = MemoryCarrier()
    listener = make_listener(carrier, connections=2)
    listener.startService()
    first, second = MemoryConnection(), MemoryConnection()
    assert listener.opened(first, LOCAL)
    assert carrier.port.is_accepting
    assert listener.opened(second, LOCAL)
    assert not carrier.port.is_accepting
    listener.closed(first, LOCAL)
    assert carrier.port.is_accepting


def test_those_accepted_past_the_last_place_are_turned_away() -> None:
    """The limit is hard: one round of accepting may bring more than there are places."""
    listener = make_listener(connections=1)
    listener.startService()
    assert listener.opened(MemoryConnection(), LOCAL)
    assert not listener.opened(MemoryConnection(), LOCAL)
    assert (listener.connections, listener.turned_away) == (1, 1)


def test_a_full_listener_that_stops_does_not_accept_again() -> None:
    """A connection that ends during the drain must not reopen the port."""
    carrier = MemoryCarrier()
    listener = make_listener(carrier, connections=1)
    listener.startService()
    connection = MemoryConnection()
    listener.opened(connection, LOCAL)
    listener.stopService()
    listener.closed(connection, LOCAL)
    assert not carrier.port.is_accepting


def test_one_address_cannot_take_the_whole_listener() -> None:
    """Each address has its share, which is free again when its connections have gone."""
    listener = make_listener(connections_per_address=1)
    first = MemoryConnection()
    assert listener.opened(first, FAR)
    assert not listener.opened(MemoryConnection(), FAR)
    assert listener.opened(MemoryConnection(), PeerFacts("tcp", address="192.0.2.2"))
    listener.closed(first, FAR)
    assert listener.opened(MemoryConnection(), FAR)


def test_the_addresses_of_one_ipv6_network_share_their_part() -> None:
    """A single host there can have 2^64 addresses."""
    listener = make_listener(connections_per_address=1)
    assert listener.opened(MemoryConnection(), PeerFacts("tcp", address="2001:db8::1"))
    assert not listener.opened(MemoryConnection(), PeerFacts("tcp", address="2001:db8::2"))
    assert listener.opened(MemoryConnection(), PeerFacts("tcp", address="2001:db8:0:1::1"))


def test_local_peers_are_not_counted_by_address() -> None:
    """On one machine everybody has the same."""
    listener = make_listener(connections_per_address=1)
    assert listener.opened(MemoryConnection(), LOCAL)
    assert listener.opened(MemoryConnection(), LOCAL)


def test_half_received_units_share_a_budget() -> None:
    """What would pass it is not accounted; what is freed can be held again."""
    listener = make_listener(assembly_octets=100)
    assert listener.hold(60)
    assert not listener.hold(41)
    assert listener.hold(40)
    assert listener.hold(-60)
    assert listener.hold(60)


def test_a_silent_connection_is_closed_and_then_aborted() -> None:
    """First in good order; at the next look by force."""
    clock = Clock()
    listener = make_listener(clock=clock, idle_seconds=8.0)
    listener.startService()
    connection = MemoryConnection()
    listener.opened(connection, LOCAL)
    clock.pump([2.0] * 3)
    assert connection.ended == []
    clock.advance(2.0)
    assert connection.ended == ["lose idle"]
    clock.advance(2.0)
    assert connection.ended == ["lose idle", "abort idle"]


def test_a_connection_that_sends_now_and_then_stays() -> None:
    """Its time begins anew with every octet seen."""
    clock = Clock()
    listener = make_listener(clock=clock, idle_seconds=8.0)
    listener.startService()
    connection = MemoryConnection()
    listener.opened(connection, LOCAL)
    for _ in range(10):
        clock.pump([2.0] * 3)
        connection.octets_received += 1
    assert connection.ended == []


def test_a_connection_that_the_bus_does_not_read_is_not_idle() -> None:
    """Its silence is not its own; its time begins when it is read again."""
    clock = Clock()
    listener = make_listener(clock=clock, idle_seconds=8.0)
    listener.startService()
    connection = MemoryConnection(is_kept_waiting=True)
    listener.opened(connection, LOCAL)
    clock.pump([2.0] * 10)
    connection.is_kept_waiting = False
    clock.pump([2.0] * 3)
    assert connection.ended == []
    clock.advance(2.0)
    assert connection.ended == ["lose idle"]


def test_nobody_is_idle_where_silence_is_allowed() -> None:
    """By default a silent subscriber is normal, and there is no timer at all."""
    clock = Clock()
    listener = make_listener(clock=clock)
    listener.startService()
    listener.opened(MemoryConnection(), LOCAL)
    assert clock.getDelayedCalls() == []


def test_a_stopped_listener_leaves_no_timer() -> None:
    """Else the reactor would not be clean."""
    clock = Clock()
    listener = make_listener(clock=clock, idle_seconds=8.0)
    listener.startService()
    listener.stopService()
    assert clock.getDelayedCalls() == []


def test_a_reload_reaches_the_carrier() -> None:
    """It is the carrier that has certificates."""
    carrier = MemoryCarrier()
    make_listener(carrier).reload()
    assert carrier.reloads == 1
