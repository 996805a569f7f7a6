"""Kill a bus under load, and a program of Spark that reads its journal, at random moments; then count the rows."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import attrs
import pyarrow as pa
import pyarrow.dataset as ds

from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.sealing import SealSettings, seal
from tests.live.broker import Broker, path_of_fmqbus
from tests.live.umq_client import Client
from tests.pipeline.kills import copying
from tests.pipeline.kills.copying import BUS_CHECKPOINT, COPIES, FINISH, ORDERS, TABLE, TABLE_CHECKPOINT
from tests.pipeline.kills.load import Load

#: Within so long after it has begun to work, a program or a bus is killed.
_LONGEST_WORK_SECONDS = 3.0
#: In one round of so many the program is killed at a random moment of its start instead, within so long.
_AT_START_EVERY = 5
_LONGEST_START_SECONDS = 10.0
_PATIENCE_SECONDS = 240.0
_LOOK_SECONDS = 0.02
_MOST_FAILURES = 10
#: What a consumer may hold at most; all orders are counted without being settled.
_WINDOW = 65_536

_CONFIGURATION = """
listen = ["fmqp:tcp:{fmqp}:interface=127.0.0.1", "umq:tcp:{umq}:interface=127.0.0.1"]
message_store = "sqlite"

[stores.sqlite]
path = "{folder}/bus.sqlite"

[journal]
path = "{folder}/journal"
segment_seconds = 5.0

# what the program writes would be read by it again
[[journal.rules]]
pattern = "{copies}"
keep = "off"
"""


@attrs.define
class Campaign:
    """Some kills, and what came of the journal's rows."""

    folder: Path
    #: Of the bus, and as many of the program.
    kills: int
    seed: int
    faults: list[str] = attrs.field(factory=list)
    bus_kills: int = 0
    kills_at_work: int = 0
    kills_at_start: int = 0
    #: Ends of the program that nobody had asked for.
    failures: int = 0
    #: Batches that had begun, and were not done, when the program was killed.
    broken_off: int = 0
    sent: int = 0
    rows: int = 0
    orders: int = 0
    sealed: int = 0
    longest_start_seconds: float = 0.0
    seconds: float = 0.0
    _random: Random = attrs.field(init=False)
    _broker: Broker = attrs.field(init=False)
    _ports: tuple[int, int] = (0, 0)

    def __attrs_post_init__(self) -> None:
        self._random = Random(self.seed)

    def run(self, longest: float = math.inf, told: Callable[[str], object] = lambda line: None) -> None:
        """Kill, let the last program come to the end, and count. After `longest` seconds no round begins; `told` hears
        of each."""
        begun = time.monotonic()
        self._start_broker()
        self._ports = self._broker.port_of("fmqp"), self._broker.port_of("umq")
        try:
            with Load(self._ports[0], self.seed) as load:
                for number in range(self.kills):
                    if time.monotonic() - begun > longest:
                        break
                    self._round(is_at_start=number % _AT_START_EVERY == _AT_START_EVERY - 1)
                    told(f"{number + 1} of {self.kills}: {self._begun()}, {time.monotonic() - begun:.0f} s")
            self.sent = load.sent
            # what is here now has to come; the bus adds rows when it ends
            ends = {shard: self._journal.end(shard) for shard in self._journal.shards()}
            self._finish()
            self._check_table(ends)
            self._check_queue()
            if code := self._broker.stop():
                self.faults.append(f"a soft end had the exit code {code}")
        finally:
            with suppress(ProcessLookupError):
                self._broker.signal(signal.SIGKILL)
                self._broker.wait()
        self.seconds = time.monotonic() - begun

    @property
    def _journal(self) -> JournalFolder:
        return JournalFolder(self.folder / "journal")

    def _start_broker(self) -> None:
        fmqp, umq = self._ports
        configuration = self.folder / "bus.toml"
        configuration.write_text(_CONFIGURATION.format(fmqp=fmqp, umq=umq, folder=self.folder, copies=COPIES))
        self._broker = Broker("--config", str(configuration)).start()
        self._broker.port_of("umq")

    # killing

    def _round(self, is_at_start: bool) -> None:
        """One life of the program, in which the bus is killed too."""
        before = self._begun()
        launched = time.monotonic()
        child = self._launch("follow")
        try:
            if is_at_start:
                until = launched + self._random.uniform(0.0, _LONGEST_START_SECONDS)
            else:
                while not self._is_at_work(before, child):
                    child = self._again(child, "follow")
                self.longest_start_seconds = max(self.longest_start_seconds, time.monotonic() - launched)
                until = time.monotonic() + self._random.uniform(0.0, _LONGEST_WORK_SECONDS)
            bus_until = time.monotonic() + self._random.uniform(0.0, _LONGEST_WORK_SECONDS)
            for moment, kill in sorted(
                [(until, self._kill_program), (bus_until, self._kill_bus)], key=lambda one: one[0]
            ):
                time.sleep(max(moment - time.monotonic(), 0.0))
                kill(child)
        finally:
            _kill_group(child)
        if is_at_start:
            self.kills_at_start += 1
        else:
            self.kills_at_work += 1
        self.broken_off += sum(self._batches("offsets", name) > self._batches("commits", name) for name in _CHECKPOINTS)
        self.sealed += len(seal(self._journal.path, SealSettings(wait_seconds=0.0), time.time()).tables)

    def _launch(self, how: str) -> subprocess.Popen[bytes]:
        """Start the program, in a group of processes of its own."""
        with (self.folder / "program.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, copying.__file__, str(self.folder / "journal"),
                 f"ws://127.0.0.1:{self._ports[1]}/umq", str(self.folder), how],
                env={**os.environ, "PYTHONPATH": path_of_fmqbus()},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def _again(self, child: subprocess.Popen[bytes], how: str) -> subprocess.Popen[bytes]:
        """The next program, where one has ended by itself: Spark gives up where the machine is too busy."""
        _kill_group(child)
        self.failures += 1
        assert self.failures < _MOST_FAILURES, f"the program ends by itself, with code {child.returncode}:\n{self._log}"
        return self._launch(how)

    def _kill_program(self, child: subprocess.Popen[bytes]) -> None:
        self.failures += child.poll() is not None
        _kill_group(child)

    def _kill_bus(self, child: subprocess.Popen[bytes]) -> None:
        self._broker.signal(signal.SIGKILL)
        self._broker.wait()
        self.bus_kills += 1
        self._start_broker()

    def _is_at_work(self, before: dict[str, int], child: subprocess.Popen[bytes]) -> bool:
        """Wait until both streams have begun a batch; False if the program has ended before."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while any(self._begun()[name] <= before[name] for name in _CHECKPOINTS):
            if child.poll() is not None:
                return False
            assert time.monotonic() < end, f"the program does not begin:\n{self._log}"
            time.sleep(_LOOK_SECONDS)
        return True

    def _begun(self) -> dict[str, int]:
        return {name: self._batches("offsets", name) for name in _CHECKPOINTS}

    def _batches(self, step: str, checkpoint: str) -> int:
        """How many batches have come to a step. Spark forgets old ones, so their numbers are counted."""
        names = [path.name for path in (self.folder / checkpoint / step).glob("*")]
        return max((int(name) + 1 for name in names if name.isdecimal()), default=0)

    # counting

    def _finish(self) -> None:
        child = self._launch(FINISH)
        try:
            while child.wait(_PATIENCE_SECONDS):
                child = self._again(child, FINISH)
        finally:
            _kill_group(child)

    def _check_table(self, ends: dict[int, int]) -> None:
        """All rows, each once, and as the journal has them."""
        table = ds.dataset(self.folder / TABLE, format="parquet", partitioning=None).to_table()
        table = table.select(["partition", "offset", "topic", "value", "timestamp"])
        for shard, end in ends.items():
            mine = table.filter(pa.compute.equal(table.column("partition"), shard)).sort_by("offset")
            offsets = mine.column("offset").to_pylist()
            self.rows += len(offsets)
            counts = Counter(offsets)
            if twice := [offset for offset, times in counts.items() if times > 1]:
                self.faults.append(f"{len(twice)} rows are in the table more than once, the first is {min(twice)}")
            if missing := set(range(end)) - set(counts):
                self.faults.append(f"{len(missing)} rows are not in the table, the first is {min(missing)}")
            if offsets != list(range(len(offsets))):
                continue
            columns = ["topic", "payload", "time"]
            journaled = pa.Table.from_batches(self._journal.read(shard, 0, len(offsets), columns))
            for name, ours in (("topic", "topic"), ("payload", "value")):
                if journaled.column(name).combine_chunks() != mine.column(ours).combine_chunks():
                    self.faults.append(f"the table has another {name} than the journal")

    def _check_queue(self) -> None:
        """All orders, each once."""
        wanted = set()
        for shard in self._journal.shards():
            for batch in self._journal.read(shard, 0, self._journal.end(shard), ["offset", "kind", "topic"]):
                is_order = pa.compute.and_(
                    pa.compute.equal(batch.column("kind"), "publish"), pa.compute.equal(batch.column("topic"), ORDERS)
                )
                wanted.update(batch.column("offset").filter(is_order).to_pylist())
        came: Counter[int] = Counter()
        with closing(Client(self._broker.connect("umq"))) as consumer:
            consumer.call("consume", COPIES, consumer.topic("q"), {"window": _WINDOW})
            # they are handed over in portions
            while updates := consumer.updates():
                came.update(int(said["properties"]["key"]) for _, said, _ in updates)
        assert len(came) < _WINDOW, "no more are handed over: there are too many orders to be counted"
        self.orders = len(came)
        if twice := [offset for offset, times in came.items() if times > 1]:
            self.faults.append(f"{len(twice)} orders came onto the bus more than once, the first is {min(twice)}")
        if missing := wanted - set(came):
            self.faults.append(f"{len(missing)} orders did not come onto the bus, the first is {min(missing)}")
        if strange := set(came) - wanted:
            self.faults.append(f"{len(strange)} came that are no orders, the first is {min(strange)}")

    @property
    def _log(self) -> str:
        """The end of what the programs have said."""
        return "\n".join((self.folder / "program.log").read_text(errors="replace").splitlines()[-40:])


_CHECKPOINTS = (TABLE_CHECKPOINT, BUS_CHECKPOINT)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
