"""`fmqbus.management.status`: what an operator is told of the bus as a whole."""

from __future__ import annotations

import pytest
from zope.interface.verify import verifyObject

from fmqbus.errors import Refused
from fmqbus.interfaces import IServiceTopic
from fmqbus.limits import Limits
from fmqbus.management.status import STATUS
from fmqbus.model import Action, Overflow, PeerFacts, Principal
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router
from tests.management.operator import Operator

FAR = Principal("fmqp", PeerFacts("tcp", "192.0.2.1", port=5000), identity="ann")


def operator(**options: object) -> Operator:
    """An operator of a bus that runs; `options` are those of `make_router`."""
    router = make_router(service_topics=[STATUS], **options)  # type: ignore[arg-type]
    router.startService()
    return Operator(router, STATUS.topic)


def test_it_is_a_service_topic_like_any_other() -> None:
    """The contract IServiceTopic holds."""
    verifyObject(IServiceTopic, STATUS)


def test_protocols_are_told_with_their_traffic() -> None:
    """And with what is lost and refused by reason."""
    one = operator()
    client = MemoryClient(one.session._router, FAR)  # type: ignore[attr-defined]
    client.session.count_received(3, 100)
    client.session.count_refused("topic-utf8")
    answer = one.ask(do="show")
    assert answer["protocols"]["fmqp"] == {
        "sessions": 1,
        "messages_in": 3,
        "messages_out": 0,
        "octets_in": 100,
        "octets_out": 0,
        "lost": {},
        "refused": {"topic-utf8": 1},
    }
    assert set(answer["checks"]) >= {"router", "message_store"}
    assert not any(answer["checks"].values())
    assert answer["subscriptions"] == 1


def test_a_peer_is_told_with_where_and_who_it_is() -> None:
    """As far as that is known."""
    one = operator()
    MemoryClient(one.session._router, FAR)  # type: ignore[attr-defined]
    (told,) = (told for told in one.ask(do="show")["sessions"] if told["protocol"] == "fmqp")
    assert {key: told[key] for key in ("carrier", "address", "port", "uid", "identity")} == {
        "carrier": "tcp",
        "address": "192.0.2.1",
        "port": 5000,
        "uid": None,
        "identity": "ann",
    }
    assert (told["is_slow"], told["is_detached"], told["kept_octets"]) == (False, False, 0)


def bus_with_slow_ones(clients: int) -> tuple[Operator, list[MemoryClient]]:
    """Each of the clients has more kept for it than the one before."""
    one = operator(limits=Limits(outbox_octets=10_000))
    router: Router = one.session._router  # type: ignore[attr-defined]
    slow = [MemoryClient(router, FAR) for _ in range(clients)]
    for number, client in enumerate(slow):
        client.subscribe(b"to/%d" % number, overflow=Overflow.DROP_NEWEST)
        client.pause()
        one.publish(b"to/%d" % number, bytes(100 * number))
    return one, slow


def test_the_slowest_peers_come_first() -> None:
    """So many as are asked for."""
    one, _ = bus_with_slow_ones(10)
    told = one.ask(do="show", most=3)["sessions"]
    kept = [peer["kept_octets"] for peer in told]
    assert len(kept) == 3
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > 900
    assert all(peer["is_slow"] for peer in told)


def test_what_a_slow_peer_loses_is_told() -> None:
    """Of it, and of its protocol."""
    one, slow = bus_with_slow_ones(2)
    for _ in range(30):
        one.publish(b"to/1", bytes(1000))
    answer = one.ask(do="show", most=1)
    (peer,) = answer["sessions"]
    assert peer["lost"] == answer["protocols"]["fmqp"]["lost"]["outbox-full"] > 20
    assert slow[1].messages == []


def test_the_fullest_queues_come_first() -> None:
    """With all that a status has."""
    one = operator()
    for number in range(5):
        for _ in range(number):
            one.enqueue(b"q%d" % number, b"x")
    told = one.ask(do="show", most=2)["queues"]
    assert [(queue["name"], queue["ready"], queue["consumers"]) for queue in told] == [("q4", 4, 0), ("q3", 3, 0)]


@pytest.mark.parametrize("most", [0, -1, 1001, "all", None])
def test_no_list_is_endless(most: object) -> None:
    """Nor empty."""
    assert "most" in operator().ask(do="show", most=most)["error"]


@pytest.mark.parametrize("request_", [{}, {"do": "stop"}, {"do": "show", "more": 1}])
def test_what_cannot_be_asked_is_answered_so(request_: dict[str, object]) -> None:
    """In words."""
    assert "error" in operator().ask(**request_)


def test_very_many_are_looked_at_in_many_turns() -> None:
    """Others are served meanwhile, and nobody is left out who goes."""
    one, slow = bus_with_slow_ones(1000)
    router: Router = one.session._router  # type: ignore[attr-defined]
    clock = router.clock
    seconds = clock.seconds
    clock.seconds = lambda: (setattr(clock, "rightNow", clock.rightNow + 0.002), seconds())[1]
    found = router.busiest(2)
    assert not found.called
    slow[0].close()
    for _ in range(100):
        clock.advance(0)
    sessions, _ = found.result
    assert [status.kept_octets for status in sessions] == sorted((s.kept_octets for s in sessions), reverse=True)
    assert len(sessions) == 2


def test_it_takes_the_right_to_control_it() -> None:
    """As every service topic."""
    policy = OpenPolicy()
    policy.deny(Action.CONTROL, STATUS.topic)
    with pytest.raises(Refused):
        operator(authorizers=[policy]).ask(do="show")


def test_queues_that_may_not_be_managed_are_left_out() -> None:
    """To be told of the bus is not to be told of all that is on it."""
    policy = OpenPolicy()
    policy.deny(Action.MANAGE, b"secret")
    one = operator(authorizers=[policy])
    for queue in (b"open", b"secret"):
        one.enqueue(queue, b"x")
    assert [queue["name"] for queue in one.ask(do="show")["queues"]] == ["open"]
