"""Measure fmqbus beside its peers, or see for a few seconds that it still runs right under load."""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.bench.job_brokers import PYTHONS
from tests.bench.load import Run, load_generators, measure
from tests.bench.report import Section, put_section
from tests.bench.workloads import CONTESTS, Contest, Workload

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def main() -> None:
    names = [workload.name for contest in CONTESTS for workload in contest.workloads]
    arguments = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    arguments.add_argument("--smoke", action="store_true", help="a short run of fmqbus alone; figures mean nothing")
    arguments.add_argument("--rounds", type=int, default=5, help="how often to measure everything (default: 5)")
    arguments.add_argument("--secs", type=float, default=2.0, help="length of a run in seconds (default: 2)")
    arguments.add_argument(
        "--contest", choices=[contest.name for contest in CONTESTS], help="measure only this, and write its section"
    )
    modules = [module for contest in CONTESTS for module in contest.pythons]
    for module in modules:
        arguments.add_argument(f"--{module}", metavar="PYTHON", help=f"a Python that has {module}")
    arguments.add_argument(
        "workloads", nargs="*", metavar="WORKLOAD", help=f"measure only these and write nothing: {', '.join(names)}"
    )
    chosen = arguments.parse_args()
    if unknown := set(chosen.workloads) - set(names):
        arguments.error(f"no such workload: {', '.join(unknown)}")

    PYTHONS.update({module: named for module in modules if (named := getattr(chosen, module))})
    _allow_many_connections()
    failures = []
    for contest in CONTESTS:
        if chosen.contest in (None, contest.name):
            failures += _hold(contest, chosen)
    if failures:
        sys.exit("\n".join(["", *failures]))


def _hold(contest: Contest, chosen: argparse.Namespace) -> list[str]:
    """Measure, tell, and write down what came of it. Returns what went wrong."""
    wanted = [workload for workload in contest.workloads if not chosen.workloads or workload.name in chosen.workloads]
    workloads = [possible for each in wanted if (possible := _possible(contest, each, not chosen.smoke)) is not None]
    if not workloads:
        return []
    if chosen.smoke:
        return Section(contest, smoke(contest, workloads)).failures()
    section = Section(contest, compare(contest, workloads, chosen.rounds, chosen.secs))
    print("\n" + section.table())
    if workloads != wanted:
        print("not written: something was left out")
    elif not chosen.workloads:
        pythons = "".join(f" --{module} PYTHON" for module in contest.pythons)
        command = f"tox -e bench -- --contest {contest.name} --rounds {chosen.rounds} --secs {chosen.secs:g}{pythons}"
        PAGE.write_text(put_section(PAGE.read_text(), section, command))
        print(f"written to {PAGE}")
    return section.failures()


def _possible(contest: Contest, workload: Workload, peers: bool) -> Workload | None:
    """The workload for those brokers that are here; None if ours cannot do it. Tells what is left out, and why."""
    ours, *others = workload.brokers or contest.brokers
    missing = {broker: broker.missing() for broker in (ours, *others) if peers or broker is ours}
    for broker, reason in missing.items():
        if reason:
            print(f"{workload.name}: {broker.name} is left out: {reason}")
    if missing[ours]:
        return None
    left_out = [broker for broker, reason in missing.items() if reason]
    if not left_out:
        return workload
    return attrs.evolve(workload, brokers=tuple(broker for broker in (ours, *others) if broker not in left_out))


def smoke(contest: Contest, workloads: list[Workload]) -> list[Run]:
    """Put everything on our broker, only as long as it takes to see that nothing is broken."""
    short = [
        attrs.evolve(workload, options=f"{workload.options} --secs 0.3 --warm 0.1 {workload.smoke}")
        for workload in workloads
    ]
    return list(_run(contest, short, rounds=1, peers=False))


def compare(contest: Contest, workloads: list[Workload], rounds: int, secs: float) -> list[Run]:
    """Put workloads on each broker in each round."""
    timed = [attrs.evolve(workload, options=f"--secs {secs} --warm 0.5 {workload.options}") for workload in workloads]
    return list(_run(contest, timed, rounds, peers=True))


def _run(contest: Contest, workloads: list[Workload], rounds: int, peers: bool) -> Iterator[Run]:
    on = {workload: workload.brokers or contest.brokers for workload in workloads}
    brokers = dict.fromkeys(broker for each in on.values() for broker in (each if peers else each[:1]))
    with load_generators({broker.source for broker in brokers}) as programs:
        for turn in range(1, rounds + 1):
            for broker in brokers:
                for run in measure(programs, broker, [one for one in workloads if broker in on[one]], turn):
                    yield _told(run)


def _told(run: Run) -> Run:
    told = [f"{key} {run.figures[key]:,}" for key in ("msgs_s", "rtt_p50", "bytes_each") if key in run.figures]
    print(f"{run.turn}  {run.broker:10} {run.workload:8} {run.error or ', '.join(told)}", flush=True)
    return run


def _allow_many_connections() -> None:
    """For us and all that we start: a broker's default of 1,024 files is not what is measured."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


main()
