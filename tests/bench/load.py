"""How is one workload put on one broker, and what came of it?"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from tests.bench.brokers import LOAD_CORE, Broker, prefer, running
from tests.bench.workloads import Workload

SOURCES = Path(__file__).parent

#: Cores that other programs may use during a run before it is repeated.
QUIET = 0.25
#: What must be zero, whatever the speed.
FAULTS = ("lost", "disorder", "misrouted", "bad")
#: In these the load generator asks at a pace, and polls all the time in between: it is busy, and no bound.
PACED = {"rtt", "call-rtt", "idle-websocket"}
#: The longest that a single workload may take, set-up and draining included.
RUN_SECONDS = 240


@attrs.frozen
class Run:
    """One workload on one broker in one round."""

    turn: int
    broker: str
    workload: str
    #: The load generator's figures; none where the broker failed.
    figures: dict[str, Any] = attrs.field(factory=dict)
    error: str = ""

    @property
    def faults(self) -> dict[str, int]:
        """What went wrong with messages, and how often."""
        return {name: self.figures[name] for name in FAULTS if self.figures.get(name)}

    @property
    def is_disturbed(self) -> bool:
        """Other programs took so much of the machine that the figures are in doubt."""
        return bool(self.figures.get("other_cpu", 0) > QUIET)

    @property
    def is_load_bound(self) -> bool:
        """The load generator was the slowest part; the broker might have done more."""
        return self.workload not in PACED and bool(self.figures.get("lg_cpu", 0) > 0.9)


@contextmanager
def load_generators(sources: Iterable[str]) -> Iterator[Mapping[str, Path]]:
    """Compile load generators, those that are in C; the programs are removed in the end."""
    compiler = shutil.which("cc") or sys.exit("there is no C compiler called cc")
    with TemporaryDirectory() as folder:
        programs = {source: SOURCES / source for source in sources}
        for source, path in programs.items():
            if path.suffix == ".c":
                programs[source] = Path(folder, source).with_suffix("")
                subprocess.run([compiler, "-O2", "-Wall", "-o", programs[source], path], check=True)
        yield programs


def measure(programs: Mapping[str, Path], broker: Broker, workloads: list[Workload], turn: int) -> Iterator[Run]:
    """Put the workloads on the broker, which is started once for most of them and anew for each that wants it fresh.

    Of a disturbed run and its repetition the quieter is taken.
    """
    path = programs[broker.source]
    program = [broker.python(), str(path)] if path.suffix == ".py" else [str(path)]
    groups = [[workload for workload in workloads if not workload.fresh]]
    groups += [[workload] for workload in workloads if workload.fresh]
    for group in filter(None, groups):
        with running(broker) as (port, pids):
            for workload in group:
                run = _run(program, broker, workload, turn, port, pids)
                if run.is_disturbed and not workload.fresh:
                    run = min(run, _run(program, broker, workload, turn, port, pids), key=_disturbance)
                yield run


def _run(program: list[str], broker: Broker, workload: Workload, turn: int, port: int, pids: list[int]) -> Run:
    running = "".join(f"--pid {pid} " for pid in pids)
    options = f"--proto {broker.protocol} --port {port} {running}--setup-timeout 90 {broker.options} {workload.options}"
    process = subprocess.Popen([*program, *options.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    prefer(process.pid, LOAD_CORE)
    try:
        printed, complaint = process.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Run(turn, broker.name, workload.name, error=f"took more than {RUN_SECONDS} s")
    if process.returncode:
        return Run(turn, broker.name, workload.name, error=complaint.strip().rpartition("\n")[2])
    return Run(turn, broker.name, workload.name, json.loads(printed))


def _disturbance(run: Run) -> float:
    return float(run.figures.get("other_cpu", float("inf")))
