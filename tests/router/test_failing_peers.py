"""Is anybody harmed by a peer whose protocol fails?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from fmqbus.model import Action, Message, Overflow, Principal
from fmqbus.router.service import Router
from fmqbus.testing.bus import LOCAL, MemoryClient, OpenPolicy, make_router
from tests.router.slow_readers import room_for


class Failing(MemoryClient):
    """Raises when the bus asks one certain thing of it."""

    def __init__(self, router: Router, method: str, principal: Principal = LOCAL) -> None:
        super().__init__(router, principal)

        def fail(*_: Any) -> None:
            self.calls.append(f"{method} raised")
            raise RuntimeError("out of order")

        setattr(self, method, fail)


@pytest.fixture(autouse=True)
def failures() -> Iterator[list[str]]:
    """What is logged with a traceback during the test; there must be something."""
    found: list[str] = []

    def observe(event: Any) -> None:
        if "log_failure" in event:
            found.append(event["log_failure"].getErrorMessage())

    globalLogPublisher.addObserver(observe)
    yield found
    globalLogPublisher.removeObserver(observe)
    assert set(found) == {"out of order"}


def test_a_peer_that_fails_in_delivery_is_cut_off_and_all_others_are_served() -> None:
    """Those before it in line and those after it."""
    router = make_router()
    first, failing, last = MemoryClient(router), Failing(router, "deliver"), MemoryClient(router)
    writer = MemoryClient(router)
    for reader in (first, failing, last):
        reader.subscribe(b"a")
    writer.publish(b"a", b"1")
    writer.publish(b"a", b"2")
    assert first.payloads == last.payloads == [b"1", b"2"]
    assert failing.calls == ["deliver raised", "abort failed"]


def test_a_peer_that_fails_when_its_link_has_room_again_is_cut_off() -> None:
    """After the first piece; it does not stay half-way, with publishers that wait for it."""
    router = make_router(limits=room_for(2))
    failing, writer = Failing(router, "deliver"), MemoryClient(router)
    failing.subscribe(b"a", overflow=Overflow.PAUSE)
    failing.pause()
    for _ in range(3):
        writer.publish(b"a", bytes(9))
    failing.resume()
    assert failing.calls == ["deliver raised", "abort failed"]
    assert writer.calls == ["pause_reading", "resume_reading"]
    assert failing.session.when_delivered().called


def test_a_peer_that_fails_to_be_told_of_interest_is_cut_off() -> None:
    """The subscriber that caused it is not, and other watchers are told."""
    router = make_router()
    failing, watcher, reader = Failing(router, "interest_changed"), MemoryClient(router), MemoryClient(router)
    for each in (failing, watcher):
        each.watch(b"a")
    reader.subscribe(b"a")
    assert watcher.interest == [(b"a", 1)]
    assert failing.calls == ["interest_changed raised", "abort failed"]
    assert reader.calls == []


def test_a_peer_that_fails_even_to_abort_is_closed_by_the_bus() -> None:
    """Its subscriptions end and its will goes out."""
    router = make_router(limits=room_for(0))
    failing, reader = Failing(router, "abort"), MemoryClient(router)
    failing.subscribe(b"a", overflow=Overflow.DISCONNECT)
    failing.set_will(b"b", b"bye")
    reader.subscribe(b"b")
    failing.pause()
    reader.publish(b"a", b"too much")
    assert reader.payloads == [b"bye"]
    assert list(router.sessions()) == [reader.session]


def test_a_publisher_that_fails_to_pause_is_cut_off_and_the_slow_reader_is_not() -> None:
    """Who raises is who goes."""
    router = make_router(limits=room_for(2))
    slow, failing = MemoryClient(router), Failing(router, "pause_reading")
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    for _ in range(3):
        failing.publish(b"a", bytes(9))
    slow.resume()
    assert failing.calls[:2] == ["pause_reading raised", "abort failed"]
    assert slow.calls == []
    assert len(slow.payloads) == 3


def test_a_publisher_that_fails_to_resume_does_not_keep_the_reader_from_its_messages() -> None:
    """Nor other publishers from going on."""
    router = make_router(limits=room_for(2, octets=5))
    slow, failing, writer = MemoryClient(router), Failing(router, "resume_reading"), MemoryClient(router)
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    for publisher in (failing, writer) * 2:
        publisher.publish(b"a", bytes(4))
    assert writer.calls == failing.calls == ["pause_reading"]
    slow.resume()
    assert len(slow.payloads) == 4
    assert writer.calls == ["pause_reading", "resume_reading"]
    writer.session.flush()
    assert failing.calls == ["pause_reading", "resume_reading raised", "abort failed"]


def test_a_peer_that_fails_to_hear_of_its_subscriptions_end_does_not_stop_a_change_of_policy() -> None:
    """The others' subscriptions end as well, and they are told."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    failing, sound = Failing(router, "subscription_ended"), MemoryClient(router)
    for reader in (failing, sound):
        reader.subscribe(b"a")
    policy.deny(Action.SUBSCRIBE, b"a")
    router.policy_changed()
    assert sound.calls == ["subscription_ended a policy"]
    assert failing.calls == ["subscription_ended raised", "abort failed"]


@pytest.mark.parametrize("method", ["stop_listening", "ending", "abort", "deliver"])
def test_a_peer_that_fails_during_a_drain_does_not_stop_it(method: str) -> None:
    """Every will goes out, every other client is told, and the drain ends in time."""
    clock = Clock()
    router = make_router(clock)
    failing, sound = Failing(router, method), MemoryClient(router)
    for client in (failing, sound):
        client.subscribe(b"*")
        client.set_will(b"a", b"bye")
    drained = router.drain()
    for _ in range(4):
        clock.advance(router.limits.drain_seconds)
    assert drained.called
    assert sound.payloads == [b"bye", b"bye"]
    assert sound.calls == ["stop_listening", "ending drained", "abort drained"]


def test_a_peer_that_fails_is_not_told_the_rest_of_the_turn_again() -> None:
    """What it did not take is lost with it; the next flush has nothing for it."""
    router = make_router()
    failing, writer = Failing(router, "deliver"), MemoryClient(router)
    failing.subscribe(b"a")
    writer.session.publish(Message(b"a", b"1"))
    writer.session.publish(Message(b"a", b"2"))
    writer.session.flush()
    writer.session.flush()
    writer.publish(b"a", b"3")
    assert failing.calls == ["deliver raised", "abort failed"]
