"""``fmqbus-pipeline report``: what happened on my bus yesterday?"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress

from fmqbus.pipeline.asked import Asked, asking
from fmqbus.pipeline.failing import told

if TYPE_CHECKING:
    from fmqbus.pipeline.report.figures import Figures


#: Up to so many rows, what there is goes into memory, and Spark is made for few.
_FEW_ROWS = 1_000_000


@click.command("report")
@asking()
@click.option("--out", metavar="FILE", help="Write a page there; without it, a summary is printed here.")
def command(asked: Asked, out: str | None) -> None:
    """Tell what happened on the bus whose journal is JOURNAL: all that it has, or --since yesterday --until today.

    The page is one file that needs no network: traffic, demand, queues, jobs, slow clients, sessions.
    """
    figures = figures_of(asked)
    from fmqbus.pipeline.report.page import page
    from fmqbus.pipeline.report.summary import tell

    if out is None:
        tell(figures, Console())
        return
    place = Path(out)
    fresh = place.with_name(f"{place.name}.{os.getpid()}.fresh")
    fresh.write_text(page(figures), encoding="utf-8")
    os.replace(fresh, place)
    click.echo(f"the report is in {place.resolve()}", err=True)


def figures_of(asked: Asked) -> Figures:
    """Ask Spark for all that the report tells, and show how far that is."""
    from fmqbus.pipeline.jobs.table import JOBS
    from fmqbus.pipeline.report.figures import STEPS, gather

    columns = dict.fromkeys(name for job in JOBS.values() for name in job.needs)
    begin, end, count = span_of(asked)
    are_few = count <= _FEW_ROWS
    with told(), Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("starting Spark", total=len(STEPS))
        spark = asked.session("report", are_few)
        rows = asked.rows(spark, [*columns, "lost"])
        # each step looks at all of them
        rows = rows.persist() if are_few else rows
        progress.update(task, description=f"looking at {STEPS[0]}")

        def done(step: str) -> None:
            following = dict(zip(STEPS, [*STEPS[1:], "the page"], strict=True))[step]
            progress.update(task, advance=1, description=f"looking at {following}")

        return gather(rows, asked.source, begin, end, done)


def span_of(asked: Asked) -> tuple[datetime, datetime, int]:
    """The time that is looked at: what was asked for, as far as the journal goes; and how many rows there are in files
    of that time."""
    from fmqbus.errors import BusError
    from fmqbus.pipeline.access import journal_of
    from fmqbus.pipeline.options import read_options

    try:
        journal = journal_of(read_options(asked.options))
        pieces = [piece for shard in journal.shards() for piece in journal.pieces(shard)]
    except BusError as error:
        raise click.ClickException(str(error)) from None
    now = datetime.now(UTC)
    earliest = min((piece.earliest for piece in pieces), default=round(now.timestamp() * 1e6))
    latest = max((piece.latest for piece in pieces), default=round(now.timestamp() * 1e6))
    begin, end = (datetime.fromtimestamp(each / 1e6, UTC) for each in (earliest, latest))
    begin = begin if asked.since is None else max(begin, asked.since)
    end = end if asked.until is None else min(end, asked.until)
    first, last = (round(each.timestamp() * 1e6) for each in (begin, end))
    near = [piece for piece in pieces if piece.latest >= first and piece.earliest <= last]
    return begin, max(begin, end), sum(piece.end - piece.first for piece in near)
