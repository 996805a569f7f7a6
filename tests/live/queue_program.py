"""A program with a bus inside, whose queue is in a database: it produces and consumes until it is killed.

``python -m tests.live.queue_program DATABASE SEED FIRST MOST``: produces messages numbered from FIRST, MOST of them at
most, and ends by itself once the queue is empty. It prints what it knows, a word and a number in each line:
``acknowledged`` (to the producer), ``taken`` or ``taken-again`` (by the consumer), ``accepted`` (just before it is).
"""

from __future__ import annotations

import sys
from random import Random
from typing import Any

from twisted.internet import task
from twisted.internet.defer import Deferred

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config
from fmqbus.app.plugs import find_plugs
from fmqbus.client.local import LocalClient
from fmqbus.client.queue_message import QueueMessage

BATCH = 20


def tell(word: str, number: int) -> None:
    """Whoever reads knows it, even if this process ends now."""
    print(word, number, flush=True)


class Consumer:
    """Accepts each message at once, or when more have come."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._held: list[QueueMessage] = []

    def take(self, message: QueueMessage) -> None:
        """A message of the queue."""
        tell("taken-again" if message.is_redelivered else "taken", int(message.payload))
        self._held.append(message)
        if self._random.random() < 0.3:
            self.accept_all()

    def accept_all(self) -> None:
        """Settle what is held, in any order."""
        self._random.shuffle(self._held)
        while self._held:
            message = self._held.pop()
            tell("accepted", int(message.payload))
            message.accept()


async def main(reactor: Any, database: str, seed: str, first: str, most: str) -> None:
    """Until all that was to be produced is consumed."""
    random = Random(seed)
    store = {"path": database, "commit_seconds": 0.001}
    config = Config(listen=("fmqp:tcp:0:interface=127.0.0.1",), message_store="sqlite", stores={"sqlite": store})
    bus = Bus(reactor, config, find_plugs())
    bus.startService()
    await bus.router.when_recovered()
    producer, consumer = LocalClient(bus.router), Consumer(random)
    LocalClient(bus.router).consume("jobs", consumer.take, window=50)
    numbers = range(int(first), int(first) + int(most))
    for begin in range(0, len(numbers), BATCH):
        for number in numbers[begin : begin + BATCH]:
            told = producer.enqueue("jobs", b"%d" % number)
            told.addCallback(lambda _, number=number: tell("acknowledged", number))
        await pause(reactor, random.choice((0, 0.001, 0.003)))
    while any(queue.ready or queue.unsettled for queue in bus.router.queues()):
        consumer.accept_all()
        await pause(reactor, 0.001)
    await bus.stopService()


async def pause(reactor: Any, seconds: float) -> None:
    """Let others have their turn."""
    later: Deferred[None] = Deferred()
    reactor.callLater(seconds, later.callback, None)
    await later


if __name__ == "__main__":
    task.react(lambda reactor, *arguments: Deferred.fromCoroutine(main(reactor, *arguments)), sys.argv[1:])
