"""What does an attack do to the broker and to its other clients?

Latency is the witness's: the time of a question and its answer, each through the broker, in a process of its own and
without what the machine, busy with other programs, kept the two waiting.
Memory is the kernel's count of the broker's resident memory and of its peak. Where we may, the broker has one core and
both it and the witness go before other programs, so that what is measured is the broker and not the machine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import attrs

import fmqbus
from tests.bench.brokers import BROKER_CORE, LOAD_CORE, prefer
from tests.live.broker import PATIENCE_SECONDS, Broker

_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


@attrs.frozen
class Figures:
    """What was measured. Times in milliseconds, memory in MiB."""

    p50: float
    p99: float
    worst: float
    memory_before: float
    memory_peak: float
    #: How the broker failed the witness; empty if it did not.
    failure: str

    @property
    def memory_growth(self) -> float:
        """How much more the broker had at its peak than before."""
        return self.memory_peak - self.memory_before

    def faults(self, memory_mib: float, stall_ms: float) -> list[str]:
        """In what these figures are beyond the bounds."""
        faults = []
        if self.failure:
            faults.append(f"the witness was failed: {self.failure}")
        if self.worst > stall_ms:
            faults.append(f"others waited {self.worst:.0f} ms, at most {stall_ms:.0f} are borne")
        if self.memory_growth > memory_mib:
            faults.append(f"memory grew by {self.memory_growth:.0f} MiB, at most {memory_mib:.0f} are borne")
        return faults


class Watch:
    """Measures from when it is entered, or last told to start anew, until its end."""

    def __init__(self, broker: Broker, is_preferred: bool = True) -> None:
        """With `is_preferred`, the broker and the witness go before other programs where they may."""
        self._broker = broker
        self._is_preferred = is_preferred
        self._memory_before = 0.0
        self._figures: Figures | None = None

    def __enter__(self) -> Watch:
        if self._is_preferred:
            prefer(self._broker.pid, BROKER_CORE)
        root = str(Path(fmqbus.__file__).parents[1])
        self._witness = subprocess.Popen(
            [sys.executable, "-m", "tests.adversarial.witness", str(self._broker.port), str(self._broker.pid)],
            env={**os.environ, "PYTHONPATH": root},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._is_preferred:
            prefer(self._witness.pid, LOAD_CORE)
        assert self._says() == "ready\n", "the witness does not get through to the broker"
        self.start_anew()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def start_anew(self) -> None:
        """Forget what was measured: what matters begins only now."""
        assert self._witness.stdin is not None
        self._witness.stdin.write("anew\n")
        self._witness.stdin.flush()
        self._says()
        # Writing 5 sets the peak back to what there is now.
        Path(f"/proc/{self._broker.pid}/clear_refs").write_text("5")
        self._memory_before = memory_of(self._broker)[0]

    def end(self) -> Figures:
        """Measure no more. May be repeated, and returns the same."""
        if self._figures is None:
            peak = memory_of(self._broker)[1]
            output, _ = self._witness.communicate(timeout=2 * PATIENCE_SECONDS)
            said = json.loads(output.splitlines()[-1])
            times = sorted(said["times"]) or [0.0]
            self._figures = Figures(
                p50=statistics.median(times),
                p99=times[len(times) * 99 // 100],
                worst=times[-1],
                memory_before=self._memory_before,
                memory_peak=peak,
                failure=said["failure"],
            )
        return self._figures

    def _says(self) -> str:
        assert self._witness.stdout is not None
        return self._witness.stdout.readline()


def memory_of(broker: Broker) -> tuple[float, float]:
    """The broker's resident memory and its peak, in MiB."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{broker.pid}/status").read_text().splitlines())
    now, peak = (int(facts[key].removesuffix("kB")) / 1024 for key in ("VmRSS", "VmHWM"))
    return now, peak


def load_of(broker: Broker, seconds: float) -> float:
    """How much of a core the broker uses during the next `seconds`."""
    before = _cpu_seconds(broker)
    time.sleep(seconds)
    return (_cpu_seconds(broker) - before) / seconds


def _cpu_seconds(broker: Broker) -> float:
    fields = Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _CLOCK_TICKS
