"""How does work run only while somebody wants its result? What FMQP is for.

A producer is started when the first subscriber comes, cancelled when the last one goes, and started afresh
when one comes again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from twisted.internet.defer import Deferred

from fmqbus.client.demand import Demand
from fmqbus.waiting import first_of

#: Called for each stretch of demand. Either an ``async def`` with ``yield``, whose payloads are published, or one
#: without, which publishes by itself.
Producer = Callable[[], AsyncGenerator[bytes, None] | Coroutine[Any, Any, None]]


async def run_on_demand(demand: Demand, producer: Producer, publish: Callable[[bytes], Deferred[None]]) -> None:
    """Run the producer during each stretch of demand, for ever.

    A producer that comes to its end is not started again before the demand has ended too. One that is cancelled is
    waited for: two of them never overlap. What it raises, this raises.
    """
    while True:
        await demand.when_wanted()
        await _run_while_wanted(demand, _run(producer, publish))
        await demand.when_unwanted()


async def _run(producer: Producer, publish: Callable[[bytes], Deferred[None]]) -> None:
    work = producer()
    if isinstance(work, AsyncGenerator):
        async with aclosing(work) as payloads:
            async for payload in payloads:
                await publish(payload)
    else:
        await work


async def _run_while_wanted(demand: Demand, work: Coroutine[Any, Any, None]) -> None:
    over: Deferred[None] = Deferred()

    def tell_it_is_over(result: Any) -> Any:
        over.callback(None)
        return result

    running = Deferred.fromCoroutine(work).addBoth(tell_it_is_over)
    try:
        await first_of(running, demand.when_unwanted())
    finally:
        await over  # it may take its time to clean up
