"""How does an operator's request reach the bus, and the answer come back? Over a topic below ``$/manage``."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred, TimeoutError

from fmqbus.cli.exits import CommandFailed, TimedOut
from fmqbus.cli.target import ANSWER_SECONDS
from fmqbus.waiting import first_of

#: The most that the bus tells at a time.
_PAGE = 1000


async def ask(reactor: Any, client: Any, topic: str, /, **request: Any) -> Mapping[str, Any]:
    """Return the answer to a request. Raises `CommandFailed` where the bus says no, `TimedOut` where it says
    nothing."""
    token = uuid4().hex
    answers: list[Mapping[str, Any]] = []
    refused: Deferred[None] = Deferred()
    with client.subscribe(f"$/manage/reply/{token}") as replies:

        async def hear() -> None:
            answers.append(json.loads((await anext(replies)).payload))

        hearing = Deferred.fromCoroutine(hear()).addTimeout(ANSWER_SECONDS, reactor)
        client.publish(topic, json.dumps({"reply": token, **request}).encode()).addErrback(refused.errback)
        try:
            if await first_of(hearing, refused, client.when_disconnected()) != 0:
                raise CommandFailed("lost the connection")
        except TimeoutError:
            raise TimedOut(
                f"no answer within {ANSWER_SECONDS:g} s; it takes the right to control {topic}, and to subscribe to "
                "$/manage/reply/..."
            ) from None
    (answer,) = answers
    if "error" in answer:
        raise CommandFailed(str(answer["error"]))
    return answer


async def pages(
    reactor: Any, client: Any, topic: str, listed: str, name: str, /, **request: Any
) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the answers that list all there are of something, some at a time. `listed` is where an answer has them, and
    `name` what each is known by there."""
    after = ""
    is_more = True
    while is_more:
        answer = await ask(reactor, client, topic, do="list", after=after, most=_PAGE, **request)
        yield answer
        is_more = answer["more"]
        after = answer[listed][-1][name] if is_more else ""
