"""How do the outcomes look, on the terminal and as a table of docs/reliability.md?"""

from __future__ import annotations

from collections.abc import Iterable

from tests import measured
from tests.adversarial.attack import Outcome

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
    return measured.table(HEADINGS, ("---", "--:", "--:", "--:", "--:", "---"), map(_cells, outcomes))


def _cells(outcome: Outcome) -> measured.Cells:
    figures = outcome.figures
    known = f"**not borne yet:** {outcome.attack.open_defect}" if outcome.attack.open_defect else ""
    account = "; ".join(filter(None, [outcome.account, known, *(f"**{fault}**" for fault in outcome.faults)]))
    return (
        outcome.title,
        *(f"{time:.1f}" for time in (figures.p50, figures.p99, figures.worst)),
        f"{figures.memory_before:.0f} + {figures.memory_growth:.0f}",
        account.replace("|", "\\|"),
    )
