"""Kill a broker at random moments, start it over the same file, and go on."""

from __future__ import annotations

import select
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

import attrs

from tests.crash.clients import QUEUES, Consumer, Producer
from tests.crash.ledger import Ledger, Mail
from tests.live.broker import PATIENCE_SECONDS, Broker

#: Of a life under load, once the clients are there; and of one that ends while the broker starts.
_LONGEST_LIFE_SECONDS = 0.6
_LONGEST_START_SECONDS = 1.0
#: How long nothing has to happen before the consumer lets go of what it holds.
_PAUSE_SECONDS = 0.02

_CONFIG = """\
listen = ["micromsg2:tcp:0"]
message_store = "sqlite"
[stores.sqlite]
path = "FOLDER/bus.db"
[queues]
delivery_limit = 0
"""


@attrs.define
class Campaign:
    """Some lives of a broker, and what came of its messages."""

    folder: Path
    seed: int
    ledger: Ledger = attrs.field(factory=Ledger)
    #: How often it was killed while clients were at work, and while it started.
    crashes: int = 0
    crashes_at_start: int = 0
    #: From the start of the process until it listens, with all queues read.
    longest_start_seconds: float = 0.0
    _random: Random = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._random = Random(self.seed)
        self._config.write_text(_CONFIG.replace("FOLDER", str(self.folder)))

    def run(self, crashes: int) -> None:
        """Kill it so many times, every tenth time twice; then let all queues run empty, and end it softly."""
        for number in range(crashes):
            if number % 10 == 9:
                self._kill_at_start()
            self._live(self._kill_under_load)
            self.crashes += 1
        self._live(self._empty)
        self.ledger.close()
        repeats = self.ledger.repeats
        self._live(self._empty)
        if self.ledger.repeats > repeats:
            self.ledger.faults.append("something came again after a soft end, with all queues empty")

    @property
    def _config(self) -> Path:
        return self.folder / "bus.toml"

    def _broker(self) -> Broker:
        return Broker("--config", str(self._config))

    def _kill_at_start(self) -> None:
        broker = self._broker().launch()
        time.sleep(self._random.uniform(0.0, _LONGEST_START_SECONDS))
        broker.signal(signal.SIGKILL)
        broker.wait()
        self.crashes_at_start += 1

    def _live(self, until_the_end: Callable[[Broker, Producer, Consumer], None]) -> None:
        begun = time.monotonic()
        with self._broker() as broker:
            self.longest_start_seconds = max(self.longest_start_seconds, time.monotonic() - begun)
            self.ledger.begin_life()
            with (
                closing(Producer(broker, self.ledger, self._random)) as producer,
                closing(Consumer(broker, self.ledger, self._random)) as consumer,
            ):
                until_the_end(broker, producer, consumer)

    def _kill_under_load(self, broker: Broker, producer: Producer, consumer: Consumer) -> None:
        """What the broker has said by then still counts."""
        end = time.monotonic() + self._random.uniform(0.0, _LONGEST_LIFE_SECONDS)
        while time.monotonic() < end:
            producer.go_on()
            _hear(producer, consumer)
        broker.signal(signal.SIGKILL)
        for party in (producer, consumer):
            while party.hear():
                pass

    def _empty(self, broker: Broker, producer: Producer, consumer: Consumer) -> None:
        """What is sent last comes last."""
        last: list[Mail] = [producer.send(queue) for queue in QUEUES]
        end = time.monotonic() + PATIENCE_SECONDS
        while not self.ledger.settled.issuperset(last):
            assert time.monotonic() < end, "the queues do not run empty"
            _hear(producer, consumer)
        if code := broker.stop():
            self.ledger.faults.append(f"a soft end had the exit code {code}")


def _hear(producer: Producer, consumer: Consumer) -> None:
    """Let both hear what there is, and the consumer accept some of it; all of it where there is nothing to hear."""
    ready, _, _ = select.select([producer, consumer], [], [], _PAUSE_SECONDS)
    if not ready:
        consumer.accept_all()
    for party in ready:
        assert party.hear(), "the broker has closed the connection"
    consumer.go_on()
