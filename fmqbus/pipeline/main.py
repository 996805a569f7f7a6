"""The ``fmqbus-pipeline`` command. Spark is imported, and Java started, only when a job is run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from fmqbus import __version__
from fmqbus.pipeline.job_command import job_command
from fmqbus.pipeline.jobs.table import JOBS

#: Command → the module whose attribute it is, and its line in the list of commands; beside those of `JOBS`.
OTHERS: Mapping[str, tuple[str, str, str]] = {
    "compact": ("fmqbus.pipeline.compact_command", "command", "Write the journal as tables, by day and protocol."),
    "export": ("fmqbus.pipeline.export_command", "command", "Write the journal as CSV, JSON lines or Parquet."),
    "replay": ("fmqbus.pipeline.replay_command", "command", "Put messages of the journal onto a bus again."),
    "report": ("fmqbus.pipeline.report.command", "command", "What happened on my bus? A page, or a summary here."),
    "seal": ("fmqbus.cli.seal", "command", "Turn closed segments of a journal into tables."),
}


class PipelineGroup(click.Group):
    """A group of the jobs and `OTHERS`."""

    def list_commands(self, context: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted([*JOBS, *OTHERS])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Make a job's command, or import another. None if there is no such."""
        if name in JOBS:
            return job_command(JOBS[name])
        if name not in OTHERS:
            return None
        module, attribute, _ = OTHERS[name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        lines = {name: job.summary for name, job in JOBS.items()} | {
            name: line for name, (_, _, line) in OTHERS.items()
        }
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))


@click.group(cls=PipelineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fmqbus-pipeline")
def main() -> None:
    """Ask the journal of a bus, with Spark: on this machine, or on a cluster by --master or spark-submit."""
