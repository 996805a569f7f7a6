"""How do the outcomes look, on the terminal and as a table of docs/reliability.md?"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import fmqbus
import twisted
from tests.adversarial.attack import Outcome

_BEGIN, _END = "<!-- figures: begin -->", "<!-- figures: end -->"

HEADINGS = ("attack", "p50 ms", "p99 ms", "longest ms", "memory MiB, peak", "what the broker did")


def told(outcome: Outcome) -> str:
    """One outcome in a few lines."""
    figures = outcome.figures
    lines = [
        f"{outcome.title}\n    p50 {figures.p50:.2f}  p99 {figures.p99:.2f}  longest {figures.worst:.1f} ms;"
        f" memory {figures.memory_before:.0f} + {figures.memory_growth:.1f} MiB",
        *([outcome.account] if outcome.account else []),
        *(f"FAULT {fault}" for fault in outcome.faults),
        *([f"known: {outcome.attack.open_defect}"] if outcome.attack.open_defect else []),
    ]
    return "\n    ".join(lines)


def table(outcomes: Iterable[Outcome]) -> str:
    """All outcomes in Markdown."""
    rows = [HEADINGS, ["---", "--:", "--:", "--:", "--:", "---"], *map(_cells, outcomes)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cells(outcome: Outcome) -> Sequence[str]:
    figures = outcome.figures
    known = f"**not borne yet:** {outcome.attack.open_defect}" if outcome.attack.open_defect else ""
    account = "; ".join(filter(None, [outcome.account, known, *(f"**{fault}**" for fault in outcome.faults)]))
    return (
        outcome.title,
        *(f"{time:.1f}" for time in (figures.p50, figures.p99, figures.worst)),
        f"{figures.memory_before:.0f} + {figures.memory_growth:.0f}",
        account.replace("|", "\\|"),
    )


def write(page: Path, outcomes: Iterable[Outcome], command: str) -> None:
    """Put the table into its place on the page."""
    before, _, rest = page.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    assert end, f"{page} has no place for the figures"
    made = f"Measured on {datetime.date.today():%Y-%m-%d} by `{command}`: {_versions()}, on {_machine()}."
    page.write_text(f"{before}{_BEGIN}\n\n{made}\n\n{table(outcomes)}\n{end}{after}")


def _versions() -> str:
    return f"fmqbus {fmqbus.__version__}, Twisted {twisted.__version__}, Python {platform.python_version()}"


def _machine() -> str:
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    cores = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    return f"{len(cores)} cores of {cores[0] if cores else platform.machine()}, {platform.platform(terse=True)}"
