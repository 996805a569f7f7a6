"""Kill workers and the broker at random while they work, and start others in their place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import attrs

import fmqbus
from tests.chaos.customer import Customer
from tests.chaos.jobs import FILE
from tests.chaos.ledger import Ledger
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.live.emqp_peers import LISTEN, Place, ports_of

_QUEUE = "chaos"
_WORKERS = 3
#: So many jobs end between two kills, at least and at most; of the kills one in so many is the broker's.
_ENDS_BETWEEN = 20, 160
_BROKER_EVERY = 5
#: With nothing heard for so long, and nothing under way, nothing more will come.
_SILENCE_SECONDS = 4.0
_ORPHAN_SECONDS = 15.0

_CONFIG = """\
listen = ["{listen}"]
message_store = "sqlite"
[stores.sqlite]
path = "{folder}/bus.db"
[queues]
delivery_limit = 0
[protocols.emqp]
heartbeat = 0.5
silence = 4.0
grace = 1.0
guarantee = 1000
unknown-queue = "keep"
"""


@attrs.define
class Campaign:
    """Some thousand jobs, and what came of them."""

    folder: Path
    jobs: int
    seed: int
    ledger: Ledger = attrs.field(factory=Ledger)
    broker_kills: int = 0
    worker_kills: int = 0
    seconds: float = 0.0
    _random: Random = attrs.field(init=False)
    _broker: Broker = attrs.field(init=False)
    _listen: str = LISTEN
    _workers: list[subprocess.Popen[bytes]] = attrs.field(factory=list)
    _killed: list[int] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self._random = Random(self.seed)

    def run(self) -> None:
        """Hand in all jobs, wait for their ends, and close the account."""
        begun = time.monotonic()
        with ExitStack() as opened:
            opened.callback(self._end)
            self._start_broker()
            place = opened.enter_context(Place(self._broker))
            self._listen = "emqp:zmq:" + ":".join(f"{name}={port}" for name, port in place.ports.items())
            for _ in range(_WORKERS):
                self._start_worker()
            customer = Customer(place.socket(identity=b"customer"), _QUEUE.encode(), self.jobs, self.ledger)
            self._kill_until_done(customer)
            while customer.go_on():
                if self._is_quiet(customer):
                    customer.ask_again()
                    customer.heard_at = time.monotonic()
        self.seconds = time.monotonic() - begun
        self.ledger.close(self._file)

    @property
    def _file(self) -> Path:
        return self.folder / "done"

    def _kill_until_done(self, customer: Customer) -> None:
        """The last jobs are left in peace: it is they that show whether all that was killed has come back."""
        following = self._random.randint(*_ENDS_BETWEEN)
        while len(self.ledger.ended) < self.jobs * 0.95:
            customer.go_on()
            if self._is_quiet(customer):
                customer.ask_again()
                customer.heard_at = time.monotonic()
            if len(self.ledger.ended) >= following:
                self._kill()
                following = len(self.ledger.ended) + self._random.randint(*_ENDS_BETWEEN)

    def _kill(self) -> None:
        if (self.broker_kills + self.worker_kills) % _BROKER_EVERY == 1:
            self._broker.signal(signal.SIGKILL)
            self._broker.wait()
            self.broker_kills += 1
            self._start_broker()
        else:
            self._kill_worker(self._workers.pop(self._random.randrange(len(self._workers))))
            self.worker_kills += 1
            self._start_worker()

    def _start_broker(self) -> None:
        config = self.folder / "bus.toml"
        config.write_text(_CONFIG.format(listen=self._listen, folder=self.folder))
        self._broker = Broker("--config", str(config)).start()

    def _start_worker(self) -> None:
        address = f"tcp://127.0.0.1:{ports_of(self._broker)['backend']}"
        environment = {**os.environ, "PYTHONPATH": str(Path(fmqbus.__file__).parents[1]), FILE: str(self._file)}
        with (self.folder / "workers.log").open("ab") as log:
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.worker", address, _QUEUE],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._workers.append(worker)

    def _kill_worker(self, worker: subprocess.Popen[bytes]) -> None:
        """Alone, or with the processes in which its jobs run."""
        if self._random.randrange(2):
            os.killpg(worker.pid, signal.SIGKILL)
        else:
            worker.kill()
        worker.wait()
        self._killed.append(worker.pid)

    def _is_quiet(self, customer: Customer) -> bool:
        """Whether nothing more will come."""
        if not customer.open or time.monotonic() - customer.heard_at < _SILENCE_SECONDS:
            return False
        with Place(self._broker) as place:
            admin = place.peer("admin")
            admin.say("STATUS")
            status = json.loads(admin.hear()[2])
        under_way = ("waiting_messages_by_queue", "inflight_messages_by_queue")
        return not any(status[what].get(_QUEUE) for what in under_way)

    def _end(self) -> None:
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            try:
                worker.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                self.ledger.faults.append("a worker does not end")
                self._kill_worker(worker)
        if code := self._broker.stop():
            self.ledger.faults.append(f"the broker ended with code {code}")
        if "Traceback" in self._broker.text:
            self.ledger.faults.append(f"the broker's log has a traceback:\n{self._broker.text}")
        self._look_for_orphans()

    def _look_for_orphans(self) -> None:
        """The processes of a worker that was killed alone end by themselves."""
        end = time.monotonic() + _ORPHAN_SECONDS
        while (orphans := [pid for pid in self._killed if _has_group(pid)]) and time.monotonic() < end:
            time.sleep(0.1)
        for pid in orphans:
            self.ledger.faults.append("a worker that was killed left processes behind")
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def _has_group(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True
