"""A process that writes into a store until it is killed, and says what has been committed.

``python -m tests.stores.sqlite.scribe PATH SEED FIRST``: a step is one of `steps`; each line printed is the number of
steps that are safe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from twisted.internet import task
from twisted.internet.defer import Deferred

from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Message, StoredMessage
from fmqbus.stores.sqlite.plug import Files, SQLiteMessages

QUEUES = (b"a", b"b", b"c")


def steps(seed: int, first: int) -> Iterator[tuple[str, StoredMessage]]:
    """Endless: messages come into queues, are handed out, and are done with; some at once, some late, some never."""
    random = Random(seed)
    there: list[StoredMessage] = []
    for number in count(first):
        queue = random.choice(QUEUES)
        there.append(StoredMessage(queue, number, Message(queue, random.randbytes(random.choice((1, 100, 5000))))))
        yield "append", there[-1]
        while random.random() < 0.6 and there:
            stored = there[-1 if random.random() < 0.5 else random.randrange(len(there))]
            if random.random() < 0.5:
                stored.deliveries += 1
                yield "delivered", stored
            else:
                there.remove(stored)
                yield "remove", stored


async def write(reactor: Any, path: str, seed: str, first: str) -> None:
    """Until the end of the process."""
    options = {"path": path, "commit_seconds": 0.001, "commit_operations": 50}
    store = SQLiteMessages(Files()).make(reactor, DEFAULT_LIMITS, options)
    await store.recover()
    print("begun", flush=True)
    pace = Random(seed)
    endless = enumerate(steps(int(seed), int(first)), 1)
    while True:
        for _ in range(pace.choice((1, 3, 30, 300))):
            done, (what, stored) = next(endless)
            if what == "append":
                store.append(stored)
            elif what == "delivered":
                store.delivered(stored)
            else:
                store.remove(stored.queue, stored.number)
        safe = store.commit().addCallback(lambda _, done=done: print(done, flush=True))
        if pace.random() < 0.2:
            await safe
        else:
            breath: Deferred[None] = Deferred()
            reactor.callLater(0, breath.callback, None)
            await breath


if __name__ == "__main__":
    task.react(lambda reactor, *arguments: Deferred.fromCoroutine(write(reactor, *arguments)), sys.argv[1:])
