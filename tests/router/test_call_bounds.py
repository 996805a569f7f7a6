"""What can callers and servers not make the bus hold, and what may they not do?"""

from __future__ import annotations

import attrs
import pytest
from twisted.internet.task import Clock
from zope.interface import implementer

from fmqbus.calls import MethodSettings, Parcel
from fmqbus.errors import CallFailed, InvalidName, LocalError, Overloaded, Refused
from fmqbus.interfaces import IAuthorizer
from fmqbus.limits import Limits
from fmqbus.model import Action, Decision, Principal
from fmqbus.router.outbox import ITEM_OCTETS
from fmqbus.router.service import Router
from fmqbus.testing.bus import LOCAL, MemoryClient, OpenPolicy, make_router
from tests.router.test_queue_slices import Busy


def bus(
    clock: Clock | None = None, most_waiting: int = 1000, **limits: float
) -> tuple[Router, MemoryClient, MemoryClient]:
    """A bus with these limits, a caller and a server of ``m``."""
    settings = MethodSettings(max_waiting=most_waiting)
    router = make_router(clock, limits=Limits(**limits), method_settings=settings)  # type: ignore[arg-type]
    caller, server = MemoryClient(router), MemoryClient(router)
    server.serve(b"m")
    return router, caller, server


def test_a_client_has_so_many_calls_under_way() -> None:
    """One that has ended makes room; others are not touched."""
    router, caller, server = bus(calls_per_peer=2)
    calls = [caller.call(b"m") for _ in range(2)]
    with pytest.raises(Overloaded):
        caller.call(b"m")
    MemoryClient(router).call(b"m")
    server.reply(calls[0])
    calls.append(caller.call(b"m"))
    caller.abandon(calls[1])
    caller.call(b"m")
    with pytest.raises(Overloaded):
        caller.call(b"m")


def test_the_calls_of_a_client_carry_so_much() -> None:
    """Payloads, properties and attachments; what is refused counts no more."""
    _, caller, server = bus(call_octets_per_peer=10)
    call = caller.session.call(b"m", Parcel(b"1234", {"k": "v"}, (b"56",)))
    for _ in range(2):
        with pytest.raises(Overloaded):
            caller.call(b"m", b"123")
    caller.call(b"m", b"12")
    server.reply(call)
    caller.call(b"m", b"12345678")


def test_so_many_calls_wait_for_a_busy_method() -> None:
    """Further ones are refused at once; one that is answered makes room."""
    router, caller, _ = bus(most_waiting=2)
    server = MemoryClient(router)
    server.serve(b"n", window=1)
    for number in range(3):
        caller.call(b"n", b"%d" % number)
    with pytest.raises(Overloaded) as refusal:
        caller.call(b"n", b"3")
    assert refusal.value.reason == "busy"
    server.reply(server.asked[0])
    caller.call(b"n", b"4")
    for number in (1, 2, 3):
        server.reply(server.asked[number])
    assert server.asked_payloads == [b"0", b"1", b"2", b"4"]
    status = router.methods()[1]
    assert (status.called, status.refused, status.waiting) == (4, 1, 0)


def test_a_burst_is_refused_only_if_it_does_not_find_servers() -> None:
    """What one read brings is no queue as long as hands are free."""
    _, caller, server = bus(most_waiting=0)
    for number in range(100):
        caller.session.call(b"m", Parcel(b"%d" % number))
    with pytest.raises(Overloaded):
        caller.session.call(b"m", Parcel(b"100"))
    caller.session.flush()
    assert len(server.asked) == 100


def test_a_client_has_so_many_services_and_the_bus_so_many_methods() -> None:
    """Ending one makes room; serving the same again is none more for the bus."""
    router, caller, server = bus(services_per_peer=2, methods=2)
    second = server.serve(b"m")
    with pytest.raises(Overloaded):
        server.serve(b"m")
    server.unserve(second)
    service = server.serve(b"n")
    with pytest.raises(Overloaded):
        caller.serve(b"o")
    caller.serve(b"n")
    server.unserve(service)
    with pytest.raises(Overloaded):
        caller.serve(b"o")
    assert [status.name for status in router.methods()] == [b"m", b"n"]


def test_a_client_has_so_many_calls_in_hand_by_whatever_service() -> None:
    """When half are done, all its services get some again."""
    router, caller, _ = bus(calls_in_hand_per_peer=4)
    server = MemoryClient(router)
    services = [server.serve(b"%d" % number, window=3) for number in range(3)]
    for _ in range(2):
        for service in services:
            caller.call(service.method)
    assert len(server.asked) == 4
    server.reply(server.asked[0])
    assert len(server.asked) == 4
    server.reply(server.asked[1])
    assert len(server.asked) == 6
    assert sum(service.in_hand for service in services) == 4
    server.close()
    assert len(caller.replies) == 6


def test_windows_and_weights_are_cut_to_their_limits() -> None:
    """One at least, of each."""
    _, caller, server = bus(calls_in_hand_per_peer=5, consumer_weight=3)
    service = server.serve(b"n", window=10**9, weight=10**9)
    assert (service.window, service.weight) == (5, 3)
    for wrong in ({"window": 0}, {"weight": 0}):
        with pytest.raises(LocalError):
            server.serve(b"n", **wrong)
    assert caller.session.call(b"n", Parcel(b"")).service is service


def test_answers_to_a_slow_caller_are_kept_within_bounds() -> None:
    """One too many becomes a failure, so that it is still told; when not even that has room, the caller is ended."""
    reply = bytes(1000)
    _, caller, server = bus(outbox_octets=2 * (ITEM_OCTETS + len(reply)) + 2 * (ITEM_OCTETS + 60))
    calls = [caller.call(b"m") for _ in range(9)]
    caller.pause()
    for call in calls[:4]:
        server.reply(call, reply)
    caller.resume()
    assert caller.replies == [reply, reply, "no-room", "no-room"]
    caller.pause()
    for call in calls[4:8]:
        server.reply(call, reply)
    assert caller.calls == []
    server.reply(calls[8], reply)
    assert caller.calls == ["abort outbox-full"]


def test_answers_never_give_way_to_publications() -> None:
    """They are told in their place among those that are kept."""
    router, caller, server = bus(outbox_octets=10 * ITEM_OCTETS)
    caller.subscribe(b"t")
    call = caller.call(b"m")
    caller.pause()
    server.reply(call, b"done")
    for number in range(1000):
        server.publish(b"t", b"%d" % number)
    caller.resume()
    assert caller.replies == [b"done"]
    assert caller.payloads[-1] == b"999"
    assert router.sessions()[0] is caller.session


@pytest.mark.parametrize("name", [b"*", b"a/*", b"$/info", b"$"])
def test_no_wildcard_and_nothing_below_the_dollar_is_a_method(name: bytes) -> None:
    """Neither to call nor to serve."""
    _, caller, server = bus()
    with pytest.raises(InvalidName):
        caller.call(name)
    with pytest.raises(InvalidName):
        server.serve(name)


def test_who_may_not_call_or_serve_is_refused() -> None:
    """Before anything is said of whether the method is there."""
    policy = OpenPolicy()
    policy.deny(Action.CALL, b"m", b"n")
    policy.deny(Action.SERVE, b"m")
    router = make_router(authorizers=[policy])
    client = MemoryClient(router)
    client.serve(b"n")
    for name in (b"m", b"n"):
        with pytest.raises(Refused):
            client.call(name)
    with pytest.raises(Refused):
        client.serve(b"m")
    with pytest.raises(CallFailed):
        client.call(b"o")


def test_a_right_that_is_lost_ends_services_and_is_not_remembered() -> None:
    """The server is told; what others have in hand goes on."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    caller, server, other = (MemoryClient(router) for _ in range(3))
    for method in (b"m", b"n"):
        server.serve(method)
    other.serve(b"m")
    for method in (b"m", b"m", b"n"):
        caller.call(method, method)
    policy.deny(Action.CALL, b"n")
    policy.deny(Action.SERVE, b"m")
    router.policy_changed()
    assert server.calls == other.calls == ["service_ended m policy"]
    assert caller.replies == ["server-lost", "server-lost"]
    with pytest.raises(Refused):
        caller.call(b"n")
    server.reply(server.asked[-1], b"done")
    assert caller.replies[2:] == [b"done"]


@implementer(IAuthorizer)
class Banishment:
    """Allows everything but to serve, for whom it names."""

    def __init__(self) -> None:
        self.banished: set[str | None] = set()

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.DENY if action is Action.SERVE and principal.identity in self.banished else Decision.ALLOW


def test_a_server_that_loses_its_right_in_this_turn_is_not_given_what_was_on_its_way() -> None:
    """Another is, and nobody twice."""
    policy = Banishment()
    router = make_router(authorizers=[policy])
    caller, one, other = (MemoryClient(router, attrs.evolve(LOCAL, identity=name)) for name in "abc")
    for server in (one, other):
        server.serve(b"m")
    for payload in (b"1", b"2"):
        caller.session.call(b"m", Parcel(payload))
    policy.banished.add("b")
    router.policy_changed()
    assert one.asked == []
    assert sorted(other.asked_payloads) == [b"1", b"2"]


def test_rights_to_call_are_remembered_within_bounds() -> None:
    """A client can name methods without end."""
    router = make_router()
    client = MemoryClient(router)
    for number in range(1000):
        client.serve(b"%d" % number)
        client.call(b"%d" % number)
    assert len(client.session._call_user._may_call.names) <= 256  # type: ignore[attr-defined]


def test_nothing_is_left_of_callers_and_servers_that_came_and_went() -> None:
    """No method, call or deadline."""
    clock = Clock()
    router, _, _ = bus(clock)
    for _ in range(100):
        caller, server = MemoryClient(router), MemoryClient(router)
        server.serve(b"n", window=1)
        for _ in range(3):
            caller.call(b"n")
        caller.close()
        server.close()
    assert [status.name for status in router.methods()] == [b"m"]
    clock.advance(1000.0)
    assert clock.getDelayedCalls() == []
    assert len(router.calling._schedule) == 0


def test_a_bus_that_has_ended_waits_for_no_deadline() -> None:
    """No timer is left to keep a process up."""
    clock = Clock()
    router, caller, server = bus(clock)
    caller.call(b"m")
    drained = router.drain()
    for client in (caller, server):
        client.close()
    clock.advance(0)
    assert drained.called
    assert clock.getDelayedCalls() == []


def test_a_bus_that_halts_hands_nothing_over() -> None:
    """Neither calls nor answers."""
    router, caller, server = bus()
    call = caller.call(b"m")
    server.session.reply(call, Parcel(b"late"))
    caller.session.call(b"m", Parcel(b"later"))
    router.halt()
    caller.session.flush()
    assert caller.replies == []
    assert len(server.asked) == 1


def test_clients_with_very_many_calls_go_in_turns() -> None:
    """What ends between the turns ends once, whether the caller's end, the server's or time was first."""
    clock = Busy()
    router, caller, server = bus(clock)
    server.serve(b"n", window=1000)
    leaving, staying = MemoryClient(router), MemoryClient(router)
    for client in [staying] * 5 + [leaving] * 200 + [staying] * 95:
        client.session.call(b"n", Parcel(b""), 60.0)
    caller.session.flush()
    assert len(server.asked) == 300
    server.close()
    leaving.close()
    for seconds in [0.0] * 10 + [60.0] + [0.0] * 10:
        clock.rightNow += seconds
        assert clock.turn()
    assert leaving.session in router.sessions()
    assert server.session in router.sessions()
    while clock.turn():
        """Until there is nothing more to do."""
    assert len(staying.replies) == 100
    assert set(staying.replies) == {"server-lost", "expired"}
    assert router.sessions() == (caller.session, staying.session)
    assert router.methods() == []
