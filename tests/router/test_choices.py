"""Which server gets a call?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from fmqbus.calls import Choice, MethodSettings, Parcel
from fmqbus.router.choices import ByHash
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router

ROUND_ROBIN, LEAST_BUSY, HASH = Choice


def bus(choice: Choice, *weights: int, window: int = 1000) -> tuple[Router, MemoryClient, Sequence[MemoryClient]]:
    """A bus with servers of these weights, and a caller."""
    router = make_router(method_settings=MethodSettings(choice=choice, max_waiting=10_000))
    servers = [MemoryClient(router) for _ in weights]
    for server, weight in zip(servers, weights, strict=True):
        server.serve(b"m", window, weight)
    return router, MemoryClient(router), servers


def shares(servers: Sequence[MemoryClient]) -> list[int]:
    """How many calls each has got."""
    return [len(server.asked) for server in servers]


def answer_all(server: MemoryClient) -> None:
    """It has done all that it has in hand."""
    for call in list(server.asked):
        server.reply(call)


@pytest.mark.parametrize("choice", Choice)
def test_servers_of_equal_weight_share_evenly(choice: Choice) -> None:
    """They differ by one call at most at any time. (By hash, those without a key are shared like that.)"""
    _, caller, servers = bus(choice, 1, 1, 1)
    for _ in range(20):
        caller.call(b"m")
        assert max(shares(servers)) - min(shares(servers)) <= 1


@pytest.mark.parametrize("choice", Choice)
def test_a_server_of_more_weight_gets_more(choice: Choice) -> None:
    """Twice as many calls for twice the weight."""
    _, caller, servers = bus(choice, 1, 2, 3)
    for _ in range(60):
        caller.call(b"m")
    assert shares(servers) == [10, 20, 30]


@pytest.mark.parametrize("choice", Choice)
def test_nobody_gets_more_than_he_can_take_and_none_waits_while_another_can(choice: Choice) -> None:
    """Windows hold whatever the choice; what comes free is used at once."""
    _, caller, servers = bus(choice, 1, 1, 1, window=2)
    for number in range(9):
        caller.call(b"m", b"%d" % number, key="same")
    assert shares(servers) == [2, 2, 2]
    servers[1].reply(servers[1].asked[0])
    assert shares(servers) == [2, 3, 2]
    assert servers[1].asked_payloads[2] == b"6"


@pytest.mark.parametrize("choice", Choice)
def test_who_is_slow_is_passed_over_and_comes_back(choice: Choice) -> None:
    """And the others share as before."""
    _, caller, servers = bus(choice, 1, 1)
    servers[0].pause()
    for _ in range(4):
        caller.call(b"m", key="k")
    assert shares(servers) == [0, 4]
    servers[1].pause()
    for _ in range(4):
        caller.call(b"m", key="k")
    assert shares(servers) == [0, 4]
    servers[0].resume()
    assert shares(servers) == [4, 4]


@pytest.mark.parametrize("choice", Choice)
def test_servers_come_and_go(choice: Choice) -> None:
    """In any number; the last one out ends the method."""
    router, caller, servers = bus(choice, 1, 2)
    services = [(servers[0], servers[0].serve(b"m", 3)) for _ in range(5)]
    for number in range(30):
        caller.call(b"m", key=str(number))
    for server, service in services:
        server.unserve(service)
    assert router.methods()[0].servers == 2
    for server in servers:
        server.close()
    assert caller.replies == ["server-lost"] * 30
    assert router.methods() == []


def test_the_least_busy_gets_the_next() -> None:
    """For its weight; among equals, who has been so for longest."""
    _, caller, servers = bus(LEAST_BUSY, 1, 1, 2)
    for _ in range(8):
        caller.call(b"m")
    assert shares(servers) == [2, 2, 4]
    answer_all(servers[1])
    for _ in range(2):
        caller.call(b"m")
    assert shares(servers) == [2, 4, 4]
    for server in (servers[2], servers[0]):
        answer_all(server)
    for _ in range(2):
        caller.call(b"m")
    assert shares(servers) == [3, 4, 5]


def test_how_busy_a_server_was_before_does_not_count() -> None:
    """The first has just got its second, so it is the other's turn."""
    _, caller, servers = bus(LEAST_BUSY, 1, 1)
    caller.call(b"m")
    caller.call(b"m")
    answer_all(servers[0])
    caller.call(b"m")
    assert shares(servers) == [2, 1]
    caller.call(b"m")
    assert shares(servers) == [2, 2]


def test_calls_of_one_key_go_to_one_server() -> None:
    """Each server has some of the keys."""
    _, caller, servers = bus(HASH, 1, 1, 1, 1)
    homes: dict[str, set[int]] = {}
    for number in range(400):
        key = str(number % 100)
        caller.call(b"m", key=key)
        [home] = [index for index, server in enumerate(servers) if _got(server)]
        homes.setdefault(key, set()).add(home)
    assert all(len(home) == 1 for home in homes.values())
    counts = Counter(home for [home] in homes.values())
    assert len(counts) == 4
    assert max(counts.values()) < 50


def _got(server: MemoryClient) -> bool:
    """It has got something since this was last asked."""
    got = bool(server.asked)
    server.asked.clear()
    return got


def test_few_keys_change_hands_when_a_server_comes_or_goes() -> None:
    """Those that the new one gets, and those that the old one had."""
    _, caller, servers = bus(HASH, 1, 1, 1)

    def homes(of: Sequence[MemoryClient]) -> list[int]:
        found = []
        for number in range(100):
            caller.call(b"m", key=str(number))
            found += [index for index, server in enumerate(of) if _got(server)]
        return found

    before = homes(servers)
    newcomer = MemoryClient(caller.session._router)  # type: ignore[attr-defined]
    newcomer.serve(b"m", 1000)
    after = homes([*servers, newcomer])
    assert {new for old, new in zip(before, after, strict=True) if old != new} == {3}
    newcomer.close()
    assert homes(servers) == before


def test_another_serves_a_key_while_its_own_server_cannot() -> None:
    """Being served matters more than by whom."""
    _, caller, servers = bus(HASH, 1, 1, window=1)
    caller.call(b"m", key="k")
    caller.call(b"m", key="k")
    assert shares(servers) == [1, 1]


def test_the_property_that_is_the_key_can_be_chosen() -> None:
    """By pattern; the first rule that fits the name decides."""
    settings = MethodSettings(choice=HASH, key="customer")
    router = make_router(method_rules=[(b"n", MethodSettings()), (b"*", settings)])
    caller, one, other = (MemoryClient(router) for _ in range(3))
    for server in (one, other):
        server.serve(b"m", 1000)
        server.serve(b"n", 1000)
    for _ in range(10):
        caller.call(b"m", customer="anna")
    assert sorted(shares([one, other])) == [0, 10]
    for _ in range(10):
        caller.call(b"n", customer="anna")
    assert sorted(shares([one, other])) == [5, 15]


def test_a_key_may_be_any_text() -> None:
    """Peers write it."""
    _, caller, servers = bus(HASH, 1)
    for key in ("", "\0", "straße", "\ud800", "x" * 10_000):
        caller.call(b"m", key=key)
    assert shares(servers) == [5]


class Free:
    """A server that always has room."""

    room = weight = 1
    priority = 0
    in_hand = turn = 0
    is_in_line = False


def test_wherever_a_key_falls_on_the_circle_a_server_follows() -> None:
    """After the last place comes the first; few keys fall between these, so it takes many."""
    servers = ByHash("k")
    server: Any = Free()
    servers.add(server)
    assert all(servers.choose(Parcel(b"", {"k": str(number)})) is server for number in range(20_000))
