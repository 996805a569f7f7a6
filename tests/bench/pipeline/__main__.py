"""Ask a journal of ten million rows by our source, as the jobs do, and beside other engines; and follow a live one.

Writes docs/benchmarks.md. Fails where two engines do not count the same.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from fmqbus.journal.sealing import SealSettings, seal
from tests import measured
from tests.bench.pipeline import live
from tests.bench.pipeline.engines import JOBS
from tests.bench.pipeline.making import write_journal
from tests.bench.pipeline.watching import Need, Watch

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks.md"
_ROWS, _SMOKE_ROWS = 10_000_000, 200_000
_LIVE_SECONDS, _SMOKE_LIVE_SECONDS = 60.0, 5.0

#: Who is measured → the engine, and whether the journal is sealed then. What is not sealed yet comes first.
CASES = {
    "our source, log": ("source", False),
    "our source, tables": ("source", True),
    "our jobs, tables": ("history", True),
    "Spark, Parquet": ("parquet", True),
    "DuckDB, Parquet": ("duckdb", True),
    "polars, Parquet": ("polars", True),
}
_BESIDE = "Spark, Parquet"
#: Job → who, and what part of the speed of `_BESIDE` it is to reach.
_GOALS = {
    "scan": {"our source, log": 0.75, "our source, tables": 0.75},
    "traffic": {"our jobs, tables": 1.0},
}


@attrs.frozen
class Done:
    """One job, done once."""

    case: str
    job: str
    seconds: float
    result: tuple[int, int]
    need: Need


def main() -> None:
    """Read the command line."""
    arguments = argparse.ArgumentParser("python -m tests.bench.pipeline", description=__doc__)
    arguments.add_argument("--rows", type=int, default=_ROWS, help=f"of the journal (default: {_ROWS:,})")
    arguments.add_argument("--rounds", type=int, default=2, help="how often to measure everything (default: 2)")
    arguments.add_argument("--smoke", action="store_true", help=f"{_SMOKE_ROWS:,} rows, once; writes no page")
    arguments.add_argument("--folder", type=Path, help="where there is room for it (default: a temporary one)")
    arguments.add_argument("--jobs", nargs="*", choices=JOBS, default=JOBS, help="these alone, and write no page")
    arguments.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES), help="these alone, likewise")
    arguments.add_argument("--no-live", action="store_true", help="leave the live stream out, likewise")
    arguments.add_argument("--write", action="store_true", help="write the page also for a part")
    chosen = arguments.parse_args()
    rows = _SMOKE_ROWS if chosen.smoke else chosen.rows
    rounds = 1 if chosen.smoke else chosen.rounds
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        done = list(_measure(Path(folder), rows, rounds, chosen.cases, chosen.jobs))
        latency = [] if chosen.no_live else live.measure(_SMOKE_LIVE_SECONDS if chosen.smoke else _LIVE_SECONDS)
    parts = [f"{rows:,} rows, {rounds} rounds.\n", _table(done, rows), live.table(latency) if latency else ""]
    text = "\n".join(filter(None, parts))
    print("\n" + text)
    if faults := _faults(done):
        sys.exit("\n".join(["", *faults]))
    is_whole = tuple(chosen.jobs) == JOBS and chosen.cases == list(CASES) and latency and not chosen.smoke
    if chosen.write or (is_whole and rows == _ROWS):
        measured.write(PAGE, "pipeline", text, f"tox -e bench-pipeline -- {' '.join(sys.argv[1:])}".rstrip(" -"))
        print(f"written to {PAGE}")


def _measure(folder: Path, rows: int, rounds: int, cases: Sequence[str], jobs: Sequence[str]) -> Iterator[Done]:
    journal, out = folder / "journal", folder / "out"
    begun = time.monotonic()
    write_journal(journal, rows)
    print(f"{rows:,} rows written in {time.monotonic() - begun:.0f} s, {_octets(journal):,} octets", flush=True)
    for is_sealed in (False, True):
        if is_sealed:
            begun = time.monotonic()
            sealed = seal(journal, SealSettings(wait_seconds=0.0), time.time())
            assert not sealed.faults, sealed.faults
            print(f"sealed in {time.monotonic() - begun:.0f} s, {_octets(journal):,} octets", flush=True)
        for _ in range(rounds):
            for case in cases:
                if CASES[case][1] is is_sealed:
                    yield from _run(case, journal, out, jobs)


def _run(case: str, journal: Path, out: Path, jobs: Sequence[str]) -> Iterator[Done]:
    """One engine, in a program of its own, does all jobs."""
    program = [sys.executable, "-m", "tests.bench.pipeline.engines", CASES[case][0], str(journal), str(out), *jobs]
    # a session of its own: its processes are known by it
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, text=True, start_new_session=True, env=_environment()
    ) as child:
        watch = Watch(child.pid)
        assert child.stdout is not None
        for line in child.stdout:
            match line.split():
                case ["begin", _]:
                    watch.begin()
                case ["end", job, seconds, groups, messages]:
                    need = watch.end()
                    print(f"{case:20} {job:10} {float(seconds):8.1f} s {need.cpu_seconds:8.1f} s of processors "
                          f"{need.peak_octets >> 20:6,} MiB", flush=True)  # fmt: skip
                    yield Done(case, job, float(seconds), (int(groups), int(messages)), need)
        watch.close()
    shutil.rmtree(out, ignore_errors=True)
    if child.returncode:
        sys.exit(f"{case} has failed")


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), os.getcwd()]))}


def _octets(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _faults(done: Sequence[Done]) -> list[str]:
    """Whoever did a job, the answer is one."""
    found = []
    for job in JOBS:
        answers = {each.result for each in done if each.job == job}
        if len(answers) > 1:
            found.append(f"{job}: {', '.join(f'{each.case} {each.result}' for each in done if each.job == job)}")
    return found


def _table(done: Sequence[Done], rows: int) -> str:
    """One row for each job and engine: the best of the rounds."""
    lines = []
    for job in JOBS:
        best = {each.case: each for each in sorted(done, key=lambda each: -each.seconds) if each.job == job}
        for name in CASES:
            if name not in best:
                continue
            each, beside = best[name], best.get(_BESIDE)
            ratio = beside.seconds / each.seconds if beside else None
            cheap = beside.need.cpu_seconds / each.need.cpu_seconds if beside and each.need.cpu_seconds else None
            lines.append(
                (
                    job,
                    name,
                    f"{rows / each.seconds / 1e6:.2f} M/s",
                    "–" if ratio is None or name == _BESIDE else f"{ratio:.2f}",
                    f"{each.need.cpu_seconds:.0f} s",
                    "–" if cheap is None or name == _BESIDE else f"{cheap:.2f}",
                    f"{each.need.peak_octets / 2**20:,.0f} MiB",
                    _verdict(_GOALS.get(job, {}).get(name), ratio),
                )
            )
    head = ("job", "by", "rows", "to Spark's Parquet", "processors", "to Spark's Parquet", "peak memory", "goal")
    return measured.table(head, ("---", "---", "--:", "--:", "--:", "--:", "--:", "---"), lines)


def _verdict(goal: float | None, ratio: float | None) -> str:
    if goal is None:
        return ""
    return f"{goal:g}: {'–' if ratio is None else 'reached' if ratio >= goal else '**missed**'}"


if __name__ == "__main__":
    main()
