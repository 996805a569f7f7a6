"""How do the runs look as a page?

As ratios of figures from one round: the machine changes from one round to the next, ratios less so.
"""

from __future__ import annotations

import datetime
import platform
import re
import statistics
from collections.abc import Iterable
from pathlib import Path

import attrs

from tests.bench.brokers import Broker
from tests.bench.load import QUIET, Run
from tests.bench.workloads import Contest, Figure, Goal, Workload

TITLE = "# Benchmarks\n"
EXPLANATION = f"""
Each cell is the median of the rounds; the least and the most are in brackets. (In the section on Spark it is the
best of them.) A ratio is of two figures of one round, in which the brokers ran one after the other, each started anew.
A goal is reached if the median reaches it. Rates count what is delivered, to all receivers together; a payload has 128
octets where nothing is said.

All goes over the loopback interface of one machine; networks take no part. Where the load generator was the bound
(`*`), the broker might have done more. Where other programs used more than {QUIET} cores during most runs (`~`), the
figures are in doubt.
"""


def put_section(page: str, section: Section, command: str) -> str:
    """The page with this section anew, whatever else it has."""
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    sections[section.contest.title] = section.text(command)
    parts = (f"\n## {title}\n{text.rstrip()}\n" for title, text in sections.items())
    return TITLE + EXPLANATION + "".join(parts)


@attrs.frozen
class Section:
    """All runs of one contest."""

    contest: Contest
    runs: list[Run]

    def text(self, command: str) -> str:
        """What the page says of it, in Markdown, without its title."""
        rounds = max(run.turn for run in self.runs)
        versions = ", ".join(dict.fromkeys(broker.version() for broker in self.contest.brokers))
        return (
            f"\nMeasured on {datetime.date.today():%Y-%m-%d} by `{command}`, {rounds} rounds, on {_machine()}.\n"
            f"{versions}.\n\n{self.table()}{self.contest.explanation}"
        )

    def table(self) -> str:
        """One row for each figure that was measured, in Markdown."""
        measured = {run.workload for run in self.runs}
        names = [broker.name for broker in self.contest.brokers]
        headings = ["workload", *names, *(f"to {peer}" for peer in names[1:]), "goals"]
        rows = [
            self._row(workload, figure)
            for workload in self.contest.workloads
            if workload.name in measured
            for figure in workload.figures
        ]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in (headings, ["---"] * len(headings), *rows))

    def failures(self) -> list[str]:
        """What must not happen: a broker that ended or refused, and messages lost, reordered or misrouted."""
        return [
            f"round {run.turn}, {run.broker}, {run.workload}: {run.error or run.faults}"
            for run in self.runs
            if run.error or run.faults
        ]

    def _row(self, workload: Workload, figure: Figure) -> list[str]:
        ours, *peers = (self._figures(broker, workload, figure) for broker in self.contest.brokers)
        names = [broker.name for broker in self.contest.brokers[1:]]
        to = {"": list(ours.values())} | {
            name: _ratios(ours, theirs) for name, theirs in zip(names, peers, strict=True)
        }
        return [
            figure.title,
            _spread(ours.values(), figure.unit) + self._marks(workload),
            *(_spread(theirs.values(), figure.unit) for theirs in peers),
            *(_spread(to[name]) for name in names),
            ", ".join(
                _verdict(goal, figure, to[goal.peer] if goal.peer else list(ours.values())) for goal in figure.goals
            ),
        ]

    def _figures(self, broker: Broker, workload: Workload, figure: Figure) -> dict[int, float]:
        """One figure of a broker in each round."""
        return {run.turn: run.figures[figure.key] for run in self._runs(broker, workload) if run.figures}

    def _runs(self, broker: Broker, workload: Workload) -> list[Run]:
        return [run for run in self.runs if (run.broker, run.workload) == (broker.name, workload.name)]

    def _marks(self, workload: Workload) -> str:
        """What the explanation says about the runs of ours."""
        runs = self._runs(self.contest.brokers[0], workload)
        is_bound = statistics.median(run.is_load_bound for run in runs)
        is_disturbed = statistics.median(run.is_disturbed for run in runs)
        return " *" * (is_bound > 0.5) + " ~" * (is_disturbed > 0.5)


def _ratios(ours: dict[int, float], theirs: dict[int, float]) -> list[float]:
    return [ours[turn] / theirs[turn] for turn in ours if theirs.get(turn)]


def _verdict(goal: Goal, figure: Figure, values: list[float]) -> str:
    bound = f"{goal.bound:g} × {goal.peer}" if goal.peer else f"{goal.bound:,}{figure.unit}"
    text = f"at most {bound}" if goal.at_most else bound
    if not values:
        return text
    return f"{text}: {'reached' if goal.is_reached(statistics.median(values)) else '**missed**'}"


def _spread(values: Iterable[float], unit: str = "") -> str:
    ordered = sorted(values)
    if not ordered:
        return "–"
    middle, least, most = (_short(value) for value in (statistics.median(ordered), ordered[0], ordered[-1]))
    return f"{middle}{unit}" if len(ordered) == 1 else f"{middle}{unit} ({least} to {most})"


def _short(value: float) -> str:
    """Three digits, which is more than such measurements deserve."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1e3:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def _machine() -> str:
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    cores = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    return f"{len(cores)} cores of {cores[0]}, {platform.platform(terse=True)}, Python {platform.python_version()}"
