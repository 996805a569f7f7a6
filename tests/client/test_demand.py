"""`fmqbus.client.demand`: what the feedback topics tell."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from fmqbus.client.demand import subscribers_in
from fmqbus.client.events import DemandChange
from fmqbus.errors import Detached
from fmqbus.protocols.fmqp.codec import FEEDBACK, SUBSCRIPTION, UNSUBSCRIBE, Packet, encode
from tests.client.conftest import MakeBus
from tests.client.memory_bus import MemoryBus

WATCHED = Packet(SUBSCRIPTION | FEEDBACK, b"room/temp")
UNWATCHED = Packet(SUBSCRIPTION | UNSUBSCRIBE | FEEDBACK, b"room/temp")


@pytest.mark.parametrize(
    ("body", "subscribers"), [(b"", 0), (bytes(8), 0), (b"\0\0\0\0\0\0\1\2", 258), (b"yes", 1), (b"\0", 1)]
)
def test_feedback_tells_a_number_or_at_least_that_somebody_is_there(body: bytes, subscribers: int) -> None:
    """Other brokers may write what they like into a body that is not empty (readings 34 and 35)."""
    assert subscribers_in(body) == subscribers


def test_demand_is_the_sum_over_all_equivalent_patterns(bus: MemoryBus) -> None:
    """It ends with the last of them."""
    demand = bus.client.demand("room/temp")
    connection = bus.start()
    assert connection.heard() == [WATCHED]
    assert (demand.subscribers, demand.is_wanted) == (0, False)
    connection.say_demand(b"room/temp", 1)
    connection.say_demand(b"room/*", 2)
    connection.say_demand(b"hall/*", 5)
    assert demand.subscribers == 3
    connection.say_demand(b"room/temp", 0)
    assert (demand.subscribers, demand.is_wanted) == (2, True)
    connection.say_demand(b"room/*", 0)
    assert (demand.subscribers, demand.is_wanted) == (0, False)


def test_changes_come_by_iteration_and_none_twice(bus: MemoryBus) -> None:
    """The bus repeats itself when asked again; that is no change."""
    changes: list[DemandChange] = []

    async def collect() -> None:
        async for change in bus.client.demand("room/temp"):
            changes.append(change)

    collecting = Deferred.fromCoroutine(collect())
    connection = bus.start()
    for subscribers in (1, 1, 2, 0, 0):
        connection.say_demand(b"room/*", subscribers)
    assert changes == [DemandChange("room/*", 1), DemandChange("room/*", 2), DemandChange("room/*", 0)]
    bus.client.stopService()
    assert collecting.called


def test_each_caller_waits_for_the_beginning_and_the_end(bus: MemoryBus) -> None:
    """Once it is so, at once."""
    demand = bus.client.demand("room/temp")
    connection = bus.start()
    assert demand.when_unwanted().called
    one, other = demand.when_wanted(), demand.when_wanted()
    connection.say_demand(b"room/temp", 1)
    assert one.called
    assert other.called
    assert demand.when_wanted().called
    end = demand.when_unwanted()
    connection.say_demand(b"room/*", 1)
    connection.say_demand(b"room/temp", 0)
    assert not end.called
    connection.say_demand(b"room/*", 0)
    assert end.called


def test_without_a_connection_nobody_listens(bus: MemoryBus) -> None:
    """The next connection tells anew, to a watch that is said again."""
    demand = bus.client.demand("room/temp")
    connection = bus.start()
    connection.say_demand(b"room/*", 3)
    ends = demand.when_unwanted()
    connection.break_off()
    assert ends.called
    assert demand.subscribers == 0
    connection = bus.come_back()
    assert connection.heard() == [WATCHED]
    connection.say_demand(b"room/*", 1)
    assert demand.subscribers == 1


def test_watches_of_one_name_share_the_wire(bus: MemoryBus) -> None:
    """A newcomer is told what there is, so each is said; only the last end is."""
    connection = bus.start()
    first, second = bus.client.demand("room/temp"), bus.client.demand("room/temp")
    first.stop()
    assert connection.heard() == [WATCHED, WATCHED]
    second.stop()
    assert connection.heard() == [UNWATCHED]


def test_whoever_waits_is_told_when_the_watch_ends(bus: MemoryBus) -> None:
    """And nobody may begin to wait after that."""
    demand = bus.client.demand("room/temp")
    bus.start()
    waiting = demand.when_wanted()
    demand.stop()
    failures: list[type[Exception] | None] = []
    waiting.addErrback(lambda reason: failures.append(reason.check(Detached)))
    assert failures == [Detached]
    with pytest.raises(Detached):
        demand.when_unwanted()


def test_the_patterns_of_others_are_bounded(make_bus: MakeBus) -> None:
    """A bus could name patterns without end; beyond the limit they are not remembered."""
    bus = make_bus(wildcards_per_peer=2)
    demand = bus.client.demand("*")
    connection = bus.start()
    for pattern in (b"a", b"b", b"c"):
        connection.say_demand(pattern, 1)
    assert demand.subscribers == 2
    connection.say_demand(b"a", 0)
    connection.say_demand(b"c", 1)
    assert demand.subscribers == 2


def test_feedback_that_no_one_asked_for_is_no_message(bus: MemoryBus) -> None:
    """The two topic systems are apart."""
    got: list[object] = []
    bus.client.subscribe("a", callback=got.append)
    bus.start().say(encode(FEEDBACK, b"a", bytes(8)))
    assert got == []
