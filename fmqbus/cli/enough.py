"""When does a command that prints what comes have enough? After a number of items, or after some time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, TimeoutError

from fmqbus.cli.exits import TimedOut

T = TypeVar("T")


async def show_until_enough(
    clock: Any, items: AsyncIterator[T], show: Callable[[T], object], count: int | None, seconds: float | None
) -> None:
    """Show each item; None is no bound. Raises `TimedOut` if time is up before the number that was asked for."""
    showing = Deferred.fromCoroutine(_show(items, show, count))
    if seconds is not None:
        showing.addTimeout(seconds, clock)
    try:
        await showing
    except TimeoutError:
        if count is not None:
            raise TimedOut(f"fewer than {count} within {seconds:g} s") from None


async def _show(items: AsyncIterator[T], show: Callable[[T], object], count: int | None) -> None:
    shown = 0
    async for item in items:
        show(item)
        shown += 1
        if shown == count:
            return
