"""``fmqbus demo``: a bus that speaks five protocols, and what it means that publishers know who listens."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from twisted.internet.task import deferLater

from fmqbus.cli.demo_data import load_series
from fmqbus.cli.demo_play import SCENES, Play, Sensor
from fmqbus.cli.demo_report import report
from fmqbus.cli.demo_stage import stage
from fmqbus.cli.demo_view import LiveView, PlainView, crossings, summary
from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.cli.target import synchronised


@click.command("demo", epilog=EXIT_CODES)
@click.option("--seconds", type=click.FloatRange(min=1), default=18.0, show_default=True, help="How long it takes.")
@click.option(
    "--rate",
    type=click.FloatRange(1, 10_000),
    default=500.0,
    show_default=True,
    help="Measurements a second, each.",
)
@click.option(
    "--journal",
    type=click.Path(file_okay=False, path_type=Path),
    help="Put the journal and the report into this folder; else into a new one, which stays.",
)
@click.option("--report/--no-report", "is_reported", default=True, help="Have Spark tell what happened, on a page.")
def command(seconds: float, rate: float, journal: Path | None, is_reported: bool) -> None:
    """Show a bus at work on real data, without any preparation.

    Starts a bus that speaks all five protocols, feeds it six weather series, each published only while somebody
    listens, lets listeners of other protocols come and go, and keeps a journal of it all.
    """
    run(lambda reactor: demo(reactor, seconds, rate, journal, is_reported))


async def demo(reactor: Any, seconds: float, rate: float, journal: Path | None, is_reported: bool) -> None:
    """Run the demonstration from the first scene to the report."""
    console = Console()
    series = load_series()
    folder = Path(tempfile.mkdtemp(prefix="fmqbus-demo-")) if journal is None else journal
    async with stage(reactor, str(folder / "journal")) as cast:
        play = Play(reactor, [Sensor(each, reactor, rate) for each in series])
        view = LiveView(play, console) if console.is_terminal else PlainView(play)

        async def scene(text: str) -> None:
            view.announce(text)
            until = reactor.seconds() + seconds / SCENES
            while (left := until - reactor.seconds()) > 0:
                step = min(view.seconds, left)
                await deferLater(reactor, step)
                view.refresh(step)

        with view:
            await play.perform(cast, scene)
        for client in (cast.station, cast.forecast, cast.archive):
            await synchronised(reactor, client)
        console.print(summary(play))
        console.print(crossings(play))
        if play.mean is not None:
            click.echo(f"The worker's last answer: the mean was {play.mean}.")
    click.echo(f"The journal: {folder / 'journal'}")
    if is_reported:
        await report(folder / "journal", folder / "report.html")
