"""``fmqbus-pipeline export``: the journal for other programs."""

from __future__ import annotations

import click

from fmqbus.pipeline.asked import Asked, asking
from fmqbus.pipeline.failing import told
from fmqbus.pipeline.telling import FORMATS, write


@click.command("export")
@asking()
@click.option("--out", required=True, metavar="DIR", help="Where the files go; there must be none yet.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="json", show_default=True)
@click.option("--messages", is_flag=True, help="Messages as they came alone, not what became of them.")
def command(asked: Asked, out: str, form: str, messages: bool) -> None:
    """Write the rows of JOURNAL as files that other programs read: payloads as text where they are, else in base64."""
    from fmqbus.pipeline.columns import COLUMNS
    from fmqbus.pipeline.jobs.export import export
    from fmqbus.pipeline.jobs.kinds import ARRIVED, is_of

    columns = [name for name in COLUMNS if name not in ("headers", "timestampType")]
    with told():
        rows = asked.rows(asked.session("export"), columns)
        write(export(rows.where(is_of(*ARRIVED)) if messages else rows), out, form, "errorifexists")
    click.echo(f"the files are in {out}", err=True)
