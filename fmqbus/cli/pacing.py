"""When is the next one due? A steady rate that catches up after a pause and does not drift."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

from twisted.internet.task import deferLater

T = TypeVar("T")

#: A timer that ends sooner is not worth waiting for.
_SHORTEST_SECONDS = 0.001


async def paced(clock: Any, items: AsyncIterator[T], per_second: float | None) -> AsyncGenerator[T, None]:
    """Yield the items at most so many a second on the whole; None is as fast as they come."""
    began, number = clock.seconds(), 0
    async for item in items:
        if per_second is not None:
            early = began + number / per_second - clock.seconds()
            if early >= _SHORTEST_SECONDS:
                await deferLater(clock, early)
        yield item
        number += 1
