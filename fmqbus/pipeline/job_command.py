"""``fmqbus-pipeline traffic`` and its like: one command for each job, all of them alike."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console

from fmqbus.pipeline.asked import Asked, asking
from fmqbus.pipeline.failing import told
from fmqbus.pipeline.jobs.table import Job
from fmqbus.pipeline.streaming import follow, start, trigger_of
from fmqbus.pipeline.telling import FORMATS, in_order, show, write

#: The options that jobs have of their own, by the names of their parameters.
_OWN = {
    "every": click.option("--every", default="1 minute", show_default=True, help="The length of a time."),
    "stuck_seconds": click.option("--stuck", "stuck_seconds", type=click.IntRange(min=1), default=300,
                                  show_default=True, metavar="SECONDS", help="What rests so long is stuck."),
}  # fmt: skip

_STREAM = (
    click.option("--stream", is_flag=True, help="Go on as rows come, until SIGTERM or Ctrl-C."),
    click.option("--checkpoint", metavar="DIR", help="Where the stream notes how far it is; needed for --stream."),
    click.option("--trigger", default="10 seconds", show_default=True,
                 help="How often a batch is begun; available-now reads what is there, and ends."),
    click.option("--reader", metavar="NAME", help="Have the journal keep for this reader what it has not yet read."),
)  # fmt: skip


def job_command(job: Job) -> click.Command:
    """Make the command of a job."""

    def run(asked: Asked, rows: int, out: str | None, form: str, **options: Any) -> None:
        streaming = {name: options.pop(name) for name in ("checkpoint", "trigger", "reader") if name in options}
        if options.pop("stream", False):
            _stream(job, asked, out, form, options, **streaming)
            return
        with told():
            spark = asked.session(job.name)
            result = in_order(job.run(asked.rows(spark, job.needs), **options), job.order)
            if out is None:
                show(result.select(*(job.shown or result.columns)), job.name, rows)
            else:
                write(result, out, form, "errorifexists")
                click.echo(f"{job.name} is in {out}", err=True)

    run.__name__, run.__doc__ = job.name, f"{job.summary}\n\nJOURNAL is a folder, or the URL of a broker's endpoint."
    made: Any = run
    for option in reversed(
        (
            click.option("--rows", type=click.IntRange(min=1), default=40, show_default=True, help="So many are told."),
            click.option("--out", metavar="DIR", help="Write all rows there, rather than showing some."),
            click.option("--format", "form", type=click.Choice(FORMATS), default="parquet", show_default=True,
                         help="Of what is written."),
            *(_OWN[name] for name in job.options),
            *(_STREAM if job.streams else ()),
        )
    ):  # fmt: skip
        made = option(made)
    return click.command(job.name, short_help=job.summary)(asking()(made))


def _stream(
    job: Job,
    asked: Asked,
    out: str | None,
    form: str,
    options: Any,
    *,
    checkpoint: str | None,
    trigger: str,
    reader: str | None,
) -> None:
    if checkpoint is None:
        raise click.UsageError("a stream needs --checkpoint DIR, where it notes how far it is")
    assert job.streams is not None
    how_often = trigger_of(trigger)
    named = {} if reader is None else {"readerName": reader}
    with told():
        spark = asked.session(job.name)
        result = job.run(asked.stream(spark, job.needs, **named), **options)
        follow(start(result, job.name, job.streams, checkpoint, how_often, out, form), Console(stderr=True))
