"""`fmqbus.waiting`: many who wait for one event, and one who waits for the first of many."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred

from fmqbus.waiting import Waiters, first_of


def failure_of(deferred: Deferred[int]) -> type[BaseException]:
    """What a Deferred has failed with."""
    failures: list[BaseException] = []
    deferred.addErrback(lambda reason: failures.append(reason.value))
    (failure,) = failures
    return type(failure)


def test_each_who_waits_is_told_once() -> None:
    """Who waits again while being told waits for the next time."""
    waiters = Waiters()
    told: list[str] = []
    waiters.wait().addCallback(lambda _: told.append("first"))
    waiters.wait().addCallback(lambda _: waiters.wait().addCallback(lambda _: told.append("again")) and None)
    waiters.fire()
    assert told == ["first"]
    waiters.fire()
    assert told == ["first", "again"]


def test_one_may_cancel_another_while_being_told() -> None:
    """Whoever is cancelled is not told."""
    waiters = Waiters()
    ended: list[str] = []
    first, second = waiters.wait(), waiters.wait()
    first.addCallback(lambda _: second.cancel())
    second.addCallbacks(lambda _: ended.append("told"), lambda reason: ended.append(reason.type.__name__))
    waiters.fire()
    assert ended == ["CancelledError"]


def test_the_first_to_fire_ends_the_wait_and_the_others() -> None:
    """Its place is the answer."""
    one: Deferred[None] = Deferred()
    other: Deferred[None] = Deferred()
    first = Deferred.fromCoroutine(first_of(one, other))
    other.callback(None)
    assert first.result == 1
    assert one.called


def test_the_first_failure_ends_the_wait_too() -> None:
    """And is raised as itself."""
    one: Deferred[None] = Deferred()
    other: Deferred[None] = Deferred()
    first = Deferred.fromCoroutine(first_of(one, other))
    one.errback(ZeroDivisionError())
    assert failure_of(first) is ZeroDivisionError
    assert other.called


def test_cancelling_the_wait_cancels_all() -> None:
    """Nothing goes on behind its back."""
    one: Deferred[None] = Deferred()
    other: Deferred[None] = Deferred()
    first = Deferred.fromCoroutine(first_of(one, other))
    first.cancel()
    assert failure_of(first) is CancelledError
    assert one.called
    assert other.called


@pytest.mark.parametrize("place", [0, 1])
def test_one_that_has_fired_already_wins(place: int) -> None:
    """At once."""
    deferreds: list[Deferred[None]] = [Deferred(), Deferred()]
    deferreds[place].callback(None)
    assert Deferred.fromCoroutine(first_of(*deferreds)).result == place
