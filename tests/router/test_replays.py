"""Replays: very much that was retained, told piece by piece, before anything newer, as fast as the client takes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import Clock

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Message
from fmqbus.router.replays import STEP
from fmqbus.router.service import Router
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.turns import SHARE_SECONDS

#: Far more than are told at once.
MANY = 1000


class BusyClock(Clock):
    """Every look at it takes half of the share of a turn. Counts the turns that were asked for."""

    turns = 0

    def callLater(self, delay: float, callable: Callable[..., object], *args: object, **kw: object) -> IDelayedCall:
        self.turns += 1
        return super().callLater(delay, callable, *args, **kw)

    def seconds(self) -> float:
        self.rightNow += SHARE_SECONDS / 2
        return self.rightNow


def retain(router: Router, count: int = MANY) -> list[bytes]:
    """Retain so many values; returns their payloads."""
    writer = MemoryClient(router)
    payloads = [b"%d" % number for number in range(count)]
    for payload in payloads:
        writer.publish(b"kept/" + payload, payload, retain=True)
    writer.close()
    return payloads


def spend(clock: Clock) -> None:
    """Let turns pass until nothing waits."""
    for _ in range(10):
        clock.advance(0)
    assert not clock.getDelayedCalls(), "there is no end to it"


def test_a_large_replay_takes_many_turns() -> None:
    """Others are served between them."""
    clock = BusyClock()
    router = make_router(clock)
    payloads = retain(router)
    spend(clock)
    reader = MemoryClient(router)
    reader.subscribe(b"kept/*")
    assert 0 < len(reader.payloads) < MANY
    begun = clock.turns
    spend(clock)
    assert clock.turns - begun > 3
    assert reader.payloads == payloads


def test_what_is_published_meanwhile_comes_behind() -> None:
    """Reading 21: cached copies go before newer publications, however many there are."""
    clock = BusyClock()
    router = make_router(clock)
    payloads = retain(router)
    spend(clock)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"kept/*")
    reader.subscribe(b"new")
    writer.publish(b"new", b"new")
    spend(clock)
    assert reader.payloads == [*payloads, b"new"]


def test_a_value_that_is_replaced_meanwhile_comes_once_and_new() -> None:
    """Its old form is left out, since the new one follows as a publication."""
    clock = BusyClock()
    router = make_router(clock)
    retain(router)
    spend(clock)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"kept/*")
    writer.publish(b"kept/999", b"replaced", retain=True)
    spend(clock)
    assert b"999" not in reader.payloads
    assert reader.payloads[-1] == b"replaced"
    assert len(reader.payloads) == MANY


def test_a_client_that_does_not_read_is_waited_for() -> None:
    """Nothing of the replay is lost, however small its outbox is."""
    clock = Clock()
    router = make_router(clock, limits=Limits(outbox_octets=1000))
    payloads = retain(router)
    reader = MemoryClient(router)
    reader.pause()
    reader.subscribe(b"kept/*")
    spend(clock)
    assert reader.payloads == []
    reader.resume()
    spend(clock)
    assert reader.payloads == payloads


def test_a_store_that_fails_meanwhile_ends_the_client_and_nobody_else() -> None:
    """It would go on believing what nobody knows to be true."""

    class Failing(MemoryRetainedStore):
        def get(self, topic: bytes) -> Message | None:
            raise OSError("the disk is broken")

    clock = Clock()
    router = make_router(clock, retained=Failing())
    retain(router)
    reader, other = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"kept/*")
    spend(clock)
    assert reader.calls == ["abort failed"]
    other.subscribe(b"a")
    other.publish(b"a", b"x")
    assert other.payloads == [b"x"]


def test_asking_again_begins_again_and_costs_no_more() -> None:
    """What is left of the former answer is replaced."""
    clock = Clock()
    router = make_router(clock, limits=Limits(replay_visits=MANY + 200))
    payloads = retain(router)
    reader = MemoryClient(router)
    reader.pause()
    for _ in range(50):
        reader.subscribe(b"kept/*")
    with pytest.raises(Overloaded):
        reader.subscribe(b"*/*")
    reader.resume()
    spend(clock)
    assert reader.payloads == payloads


def test_an_ended_subscription_brings_nothing_more() -> None:
    """Not even the rest of its replay; and what waited behind it comes."""
    clock = BusyClock()
    router = make_router(clock)
    retain(router)
    spend(clock)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"kept/*")
    reader.unsubscribe(b"kept/*")
    told = len(reader.payloads)
    reader.subscribe(b"new")
    writer.publish(b"new", b"new")
    spend(clock)
    assert reader.payloads[told:] == [b"new"]


def test_interest_in_very_many_patterns_is_told_as_it_is_by_then() -> None:
    """What ended meanwhile is left out, and its end is told."""
    clock = BusyClock()
    router = make_router(clock)
    subscriber = MemoryClient(router)
    for number in range(MANY):
        subscriber.subscribe(b"s/%d" % number)
    watcher = MemoryClient(router)
    watcher.watch(b"s/*")
    subscriber.unsubscribe(b"s/999")
    spend(clock)
    told = dict(watcher.interest)
    assert told == {b"s/%d" % number: 1 for number in range(999)} | {b"s/999": 0}


def test_a_client_with_very_many_subscriptions_ends_over_many_turns() -> None:
    """Interest falls for all of them, the wills come last, and nobody waits for it."""
    clock = BusyClock()
    router = make_router(clock)
    client, heir = MemoryClient(router), MemoryClient(router)
    heir.subscribe(b"will")
    for number in range(MANY):
        client.subscribe(b"s/%d" % number)
    client.set_will(b"will", b"gone")
    client.close()
    assert heir.payloads == []
    assert router.subscriptions > 1
    begun = clock.turns
    spend(clock)
    assert clock.turns - begun > 100
    assert heir.payloads == [b"gone"]
    assert router.subscriptions == 1
    assert router.sessions() == (heir.session,)


def test_a_slow_reader_that_catches_up_does_so_over_many_turns() -> None:
    """A full outbox is no reason to keep others waiting."""
    clock = BusyClock()
    router = make_router(clock)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    reader.pause()
    for number in range(40):
        writer.publish(b"a", bytes([number]) * 100_000)
    reader.resume()
    writer.publish(b"a", b"newest")
    assert len(reader.payloads) < 40
    begun = clock.turns
    spend(clock)
    assert clock.turns - begun > 3
    assert [payload[0] for payload in reader.payloads[:-1]] == list(range(40))
    assert reader.payloads[-1] == b"newest"


@pytest.mark.parametrize(("count", "at_once"), [(STEP, True), (STEP + 1, False)])
def test_what_fits_into_one_step_needs_no_turn(count: int, at_once: bool) -> None:
    """A client that one step tells everything has it at once, however busy the bus is."""
    clock = BusyClock()
    router = make_router(clock)
    payloads = retain(router, count)
    spend(clock)
    while not router.turns.is_used_up:
        pass
    reader = MemoryClient(router)
    reader.subscribe(b"kept/*")
    assert (reader.payloads == payloads) is at_once
    spend(clock)
    assert reader.payloads == payloads
