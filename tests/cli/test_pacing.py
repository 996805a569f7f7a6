"""`fmqbus.cli.pacing` and `fmqbus.cli.enough`: when the next one is due, and when it is enough."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock, deferLater

from fmqbus.cli.enough import show_until_enough
from fmqbus.cli.exits import ExitCode, TimedOut
from fmqbus.cli.pacing import paced


async def numbers(count: int) -> AsyncGenerator[int, None]:
    """Numbers from 0 on."""
    for number in range(count):
        yield number


async def ticks(clock: Clock) -> AsyncGenerator[float, None]:
    """One a second."""
    while True:
        await deferLater(clock, 1.0)
        yield clock.seconds()


def test_a_rate_is_kept_on_the_whole() -> None:
    """After a pause it catches up."""
    clock = Clock()
    came: list[int] = []

    async def take() -> None:
        async for number in paced(clock, numbers(100), 10.0):
            came.append(number)

    Deferred.fromCoroutine(take())
    assert len(came) == 1
    clock.pump([0.1] * 5)
    assert len(came) in (5, 6)  # floating point
    clock.advance(5.0)
    assert len(came) in (55, 56)


def test_without_a_rate_nothing_waits() -> None:
    """As fast as they come."""
    came: list[int] = []

    async def take() -> None:
        async for number in paced(Clock(), numbers(100), None):
            came.append(number)

    assert Deferred.fromCoroutine(take()).called
    assert len(came) == 100


@pytest.mark.parametrize(("count", "seconds", "shown"), [(2, None, 2), (2, 10.0, 2), (None, 3.5, 3)])
def test_enough_is_a_number_or_a_time(count: int | None, seconds: float | None, shown: int) -> None:
    """Whichever comes first."""
    clock = Clock()
    came: list[float] = []
    done = Deferred.fromCoroutine(show_until_enough(clock, ticks(clock), came.append, count, seconds))
    clock.pump([0.5] * 20)
    assert done.called
    assert len(came) == shown


def test_too_few_in_time_is_a_failure() -> None:
    """With an exit code of its own."""
    clock = Clock()
    failures: list[BaseException] = []
    done = Deferred.fromCoroutine(show_until_enough(clock, ticks(clock), lambda _: None, 5, 2.5))
    done.addErrback(lambda reason: failures.append(reason.value))
    clock.pump([0.5] * 6)
    (failure,) = failures
    assert isinstance(failure, TimedOut)
    assert failure.exit_code == ExitCode.TIMED_OUT
