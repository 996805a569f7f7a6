"""The report in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from fmqbus.pipeline.report.figures import Figures, Row
from fmqbus.pipeline.report.page import octets
from fmqbus.pipeline.telling import cell, printable, table_of

#: A bar of eight heights for each point.
_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60


def tell(figures: Figures, console: Console) -> None:
    """Print it."""
    console.print(
        f"[bold]What happened on the bus[/], {figures.begin:%Y-%m-%d %H:%M} to {figures.end:%Y-%m-%d %H:%M} UTC",
        highlight=False,
    )
    console.print(printable(figures.source), style="dim", markup=False, highlight=False)
    if not figures.traffic:
        console.print("Nothing was journaled in this time.")
        return
    if figures.total("lost"):
        console.print(f"The bus could not write {figures.total('lost'):,} rows: all figures lack them.", style="red")
    rates = [sum(row["messages"] for row in rows) for rows in _by_time(figures)]
    peak = max(rates) / figures.step
    console.print(f"messages  {bars(rates)}  at most {peak:,.0f} a second", highlight=False)
    console.print(
        f"{figures.total('messages'):,} messages, {octets(figures.total('bytes'))} of payload, "
        f"{figures.total('copies'):,} copies out, {figures.total('unwanted'):,} nobody wanted, "
        f"{figures.total('drops'):,} dropped; feedback saved some {cell(figures.demand_total['saved'] or 0)}",
        highlight=False,
    )
    for title, rows in (
        ("by the protocol of who sent them", figures.protocols),
        ("topics and queues", figures.topics[:8]),
        ("what became of messages of queues", figures.delivery),
        ("jobs", figures.jobs[:8]),
        ("slow clients", figures.slow[:8]),
        ("sessions", figures.sessions),
    ):
        if rows:
            console.print(table_of(title, list(rows[0]), rows))


def bars(values: Sequence[float]) -> str:
    """Values as a line of bars, of `_WIDTH` at most."""
    group = -(-len(values) // _WIDTH)
    sums = [max(values[at : at + group]) for at in range(0, len(values), group)]
    top = max(sums, default=0) or 1
    return "".join(_BARS[-(-round(value * 1000) * (len(_BARS) - 1) // round(top * 1000))] for value in sums)


def _by_time(figures: Figures) -> Sequence[Sequence[Row]]:
    found: dict[object, list[Row]] = {}
    for row in figures.traffic:
        found.setdefault(row["time"], []).append(row)
    return list(found.values())
