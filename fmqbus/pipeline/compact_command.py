"""``fmqbus-pipeline compact``: the journal as tables for those who ask often."""

from __future__ import annotations

import click
from rich.console import Console

from fmqbus.pipeline.asked import Asked, asking
from fmqbus.pipeline.failing import told
from fmqbus.pipeline.streaming import follow, start, trigger_of
from fmqbus.pipeline.telling import write


@click.command("compact")
@asking()
@click.option("--out", required=True, metavar="DIR", help="Where the tables go.")
@click.option("--format", "form", type=click.Choice(["parquet", "delta"]), default="parquet", show_default=True)
@click.option("--checkpoint", metavar="DIR", help="Write only what is new since the last run with this folder.")
@click.option("--trigger", default="available-now", show_default=True, help="With --checkpoint: or '10 minutes'.")
@click.option("--reader", metavar="NAME", help="With --checkpoint: have the journal keep what is not yet read.")
def command(asked: Asked, out: str, form: str, checkpoint: str | None, trigger: str, reader: str | None) -> None:
    """Write the rows of JOURNAL as tables below --out, by day and protocol, sorted by topic and time.

    Days and protocols that are in it take the place of those that were there: give whole days by --since and --until.
    With --checkpoint, each run adds what has come since, each row once, as batch=NUMBER.
    """
    from fmqbus.pipeline.columns import COLUMNS
    from fmqbus.pipeline.jobs.compact import PARTED_BY, compact

    columns = [name for name in COLUMNS if name not in ("key", "headers", "timestampType")]
    how_often = trigger_of(trigger)
    with told():
        spark = asked.session("compact")
        if checkpoint is None:
            write(compact(asked.rows(spark, columns)), out, form, "overwrite", PARTED_BY)
        else:
            named = {} if reader is None else {"readerName": reader}
            rows = compact(asked.stream(spark, columns, **named))
            follow(start(rows, "compact", "append", checkpoint, how_often, out, form), Console(stderr=True))
    click.echo(f"the tables are in {out}", err=True)
