"""Measure fmqbus beside NATS and Mosquitto, or see for a few seconds that it still runs right under load."""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path

import attrs

from tests.bench.brokers import FMQBUS, MOSQUITTO, NATS
from tests.bench.load import Run, load_generator, measure
from tests.bench.report import Report
from tests.bench.workloads import WORKLOADS

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    arguments.add_argument("--smoke", action="store_true", help="a short run of fmqbus alone; figures mean nothing")
    arguments.add_argument("--rounds", type=int, default=5, help="how often to measure everything (default: 5)")
    arguments.add_argument("--secs", type=float, default=2.0, help="length of a run in seconds (default: 2)")
    arguments.add_argument(
        "workloads",
        nargs="*",
        metavar="WORKLOAD",
        help=f"measure only these and write no page: {', '.join(workload.name for workload in WORKLOADS)}",
    )
    chosen = arguments.parse_args()
    unknown = set(chosen.workloads) - {workload.name for workload in WORKLOADS}
    if unknown:
        arguments.error(f"no such workload: {', '.join(unknown)}")

    _allow_many_connections()
    if chosen.smoke:
        report = Report(smoke())
    else:
        report = Report(compare(chosen.rounds, chosen.secs, chosen.workloads))
        print("\n" + report.table())
        if not chosen.workloads:
            PAGE.write_text(report.page(f"tox -e bench -- --rounds {chosen.rounds} --secs {chosen.secs:g}"))
            print(f"written to {PAGE}")
    if failures := report.failures():
        sys.exit("\n".join(["", *failures]))


def smoke() -> list[Run]:
    """Put everything on our broker, only as long as it takes to see that nothing is broken."""
    workloads = [
        attrs.evolve(workload, options=f"{workload.options} --secs 0.3 --warm 0.1 {workload.smoke}")
        for workload in WORKLOADS
    ]
    with load_generator() as program:
        return [_told(run) for run in measure(program, FMQBUS, workloads, turn=1)]


def compare(rounds: int, secs: float, names: list[str]) -> list[Run]:
    """Put the named workloads, or all, on each broker in each round."""
    workloads = [
        attrs.evolve(workload, options=f"--secs {secs} --warm 0.5 {workload.options}")
        for workload in WORKLOADS
        if not names or workload.name in names
    ]
    with load_generator() as program:
        return [
            _told(run)
            for turn in range(1, rounds + 1)
            for broker in (FMQBUS, NATS, MOSQUITTO)
            for run in measure(program, broker, workloads, turn)
        ]


def _told(run: Run) -> Run:
    told = [f"{key} {run.figures[key]:,}" for key in ("msgs_s", "rtt_p50", "bytes_each") if key in run.figures]
    print(f"{run.turn}  {run.broker:10} {run.workload:8} {run.error or ', '.join(told)}", flush=True)
    return run


def _allow_many_connections() -> None:
    """For us and all that we start: a broker's default of 1,024 files is not what is measured."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


main()
