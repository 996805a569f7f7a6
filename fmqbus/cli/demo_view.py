"""How is the demonstration shown? A live table on a terminal, a line a second elsewhere, and a summary in the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import attrs
import click
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fmqbus.cli.demo_play import Play

#: So many samples are drawn beside each sensor; all fits 80 columns.
_HISTORY = 10
_BARS = " ▁▂▃▄▅▆▇█"


@attrs.define
class Trace:
    """A number that only grows, and how fast it has grown lately."""

    total: int = 0
    rates: deque[float] = attrs.field(factory=lambda: deque([0.0] * _HISTORY, maxlen=_HISTORY))

    def sample(self, total: int, seconds: float) -> None:
        """Take the number as it is so many seconds after the sample before."""
        self.rates.append((total - self.total) / seconds)
        self.total = total

    def drawn(self) -> str:
        """The rates as a row of bars."""
        top = max(self.rates) or 1.0
        return "".join(_BARS[round(rate / top * (len(_BARS) - 1))] for rate in self.rates)


class PlainView:
    """For pipes and logs."""

    #: Between two calls of `refresh`.
    seconds = 1.0

    def __init__(self, play: Play) -> None:
        self._play = play
        self._published, self._delivered = Trace(), Trace()

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *reason: object) -> None:
        """Nothing is left to restore."""

    def announce(self, text: str) -> None:
        """A scene begins."""
        click.echo(text)

    def refresh(self, seconds: float) -> None:
        """Show what happened in so many seconds."""
        sensors = self._play.sensors
        self._published.sample(sum(sensor.published for sensor in sensors), seconds)
        self._delivered.sample(self._play.delivered.total(), seconds)
        click.echo(
            f"  {sum(sensor.is_awake for sensor in sensors)} of {len(sensors)} sensors awake, "
            f"{self._published.rates[-1]:,.0f} published/s, {self._delivered.rates[-1]:,.0f} delivered/s"
        )


class LiveView:
    """For terminals."""

    seconds = 0.25

    def __init__(self, play: Play, console: Console) -> None:
        self._play = play
        self._live = Live(console=console, auto_refresh=False)
        self._traces = {sensor.topic: Trace() for sensor in play.sensors}
        self._scene = ""

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._live.stop()

    def announce(self, text: str) -> None:
        """A scene begins."""
        self._scene = text

    def refresh(self, seconds: float) -> None:
        """Show what happened in so many seconds."""
        table = Table(box=None, padding=(0, 1, 0, 0))
        for heading in ("topic", "", "lately"):
            table.add_column(heading, no_wrap=True)
        for heading in ("now/s", "published", "delivered", "not sent"):
            table.add_column(heading, justify="right")
        for sensor in self._play.sensors:
            trace = self._traces[sensor.topic]
            trace.sample(sensor.published, seconds)
            table.add_row(
                sensor.topic,
                "[green]●[/]" if sensor.is_awake else "[dim]○[/]",
                f"[cyan]{trace.drawn()}[/]",
                f"{trace.rates[-1]:,.0f}",
                f"{sensor.published:,}",
                f"{self._play.delivered[sensor.topic]:,}",
                f"{sensor.spared:,}",
            )
        self._live.update(Group(Text(self._scene, style="bold"), table), refresh=True)


def summary(play: Play) -> Table:
    """What it came to, for each sensor and in all."""
    table = Table(title="what feedback saved", title_justify="left", box=None, padding=(0, 1, 0, 0))
    table.add_column("topic")
    for heading in ("measured", "published", "delivered", "not sent", "saved"):
        table.add_column(heading, justify="right")
    # read once each: the sensors go on measuring
    counts = [(sensor.topic, sensor.measured, sensor.published) for sensor in play.sensors]
    for topic, measured, published in counts:
        table.add_row(topic, *_figures(measured, published, play.delivered[topic]))
    all_measured = sum(measured for _, measured, _ in counts)
    all_published = sum(published for _, _, published in counts)
    table.add_row("all", *_figures(all_measured, all_published, play.delivered.total()), style="bold")
    return table


def _figures(measured: int, published: int, delivered: int) -> Sequence[str]:
    spared = measured - published
    return f"{measured:,}", f"{published:,}", f"{delivered:,}", f"{spared:,}", f"{spared / max(measured, 1):.0%}"


def crossings(play: Play) -> Table:
    """What went from one protocol to another."""
    table = Table(title="\nwhat crossed", title_justify="left", box=None, padding=(0, 1, 0, 0))
    for heading in ("from", "to", "", "messages"):
        table.add_column(heading, justify="right" if heading == "messages" else "left")
    for (said, heard, what), count in play.crossed.items():
        table.add_row(said, heard, what, f"{count:,}")
    return table
