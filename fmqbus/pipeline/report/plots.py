"""The report's plots, as SVG that stands in a page: nothing is fetched, and text stays text."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from fmqbus.pipeline.report.figures import Figures, Row

#: Legible on white and on black.
_INK = "#808890"
#: Told apart by most who do not see all colours.
_COLOURS = ("#3b82c4", "#e08a1e", "#3aa66b", "#c2528b", "#8a6fd1", "#8c8c3a", "#b5523b")
_WIDTH, _HEIGHT = 9.0, 2.6

_STYLE: Any = {
    "svg.fonttype": "none",
    # the same figures make the same page
    "svg.hashsalt": "fmqbus",
    "font.family": "sans-serif",
    "font.size": 9,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def message_rate(figures: Figures) -> str:
    """Messages a second that came, by protocol."""
    return _stacked(figures, "messages", figures.step, "messages a second", EngFormatter())


def octet_rate(figures: Figures) -> str:
    """Octets of payload a second that came, by protocol."""
    return _stacked(figures, "bytes", figures.step, "payload a second", EngFormatter("B"))


def latency(figures: Figures) -> str:
    """How long consumers and servers took, by protocol; empty if nobody did."""
    series = {
        name: [(row["time"], row["latency_p95_ms"]) for row in rows if row["latency_p95_ms"] is not None]
        for name, rows in _by_protocol(figures).items()
    }
    if not any(series.values()):
        return ""
    with mpl.rc_context(_STYLE):
        figure, axes = _axes("95 % took at most")
        for colour, (name, points) in zip(_colours(series), series.items(), strict=True):
            if points:
                times, values = zip(*points, strict=True)
                axes.plot(_utc(times), [value / 1000 for value in values], ".-", color=colour, label=name, lw=1, ms=3)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(EngFormatter("s"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        return _svg(figure, axes, figures)


def _stacked(figures: Figures, name: str, divisor: float, label: str, form: EngFormatter) -> str:
    start = _floor(figures.begin, figures.step)
    times = [start + timedelta(seconds=n * figures.step) for n in range(_points(figures) + 2)]
    series = []
    for rows in _by_protocol(figures).values():
        values = {_aware(row["time"]): (row[name] or 0) / divisor for row in rows}
        series.append([values.get(time, 0.0) for time in times])
    with mpl.rc_context(_STYLE):
        figure, axes = _axes(label)
        names = list(_by_protocol(figures))
        axes.stackplot(_utc(times), series, labels=names, colors=_colours(names), step="post", alpha=0.85, lw=0)
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(form)
        return _svg(figure, axes, figures)


def _by_protocol(figures: Figures) -> Mapping[str, Sequence[Row]]:
    """The points of each protocol that had any, most messages first."""
    found: dict[str, list[Row]] = {row["protocol"]: [] for row in figures.protocols}
    for row in figures.traffic:
        found[row["protocol"]].append(row)
    return found


def _axes(label: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylabel(label)
    axes.grid(axis="y", color=_INK, alpha=0.25, lw=0.5)
    return figure, axes


def _svg(figure: Figure, axes: Axes, figures: Figures) -> str:
    begin, end = _utc([figures.begin, max(figures.end, figures.begin + timedelta(seconds=1))])
    axes.set_xlim(begin, end)
    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    written = io.StringIO()
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    # an element of a page, not a file of its own
    return text[text.index("<svg") :]


def _colours(names: Any) -> list[str]:
    return [_COLOURS[number % len(_COLOURS)] for number in range(len(names))]


def _points(figures: Figures) -> int:
    return max(int((figures.end - figures.begin).total_seconds() // figures.step), 1)


def _floor(time: datetime, step: int) -> datetime:
    since = int(_aware(time).timestamp())
    return datetime.fromtimestamp(since - since % step, UTC)


def _aware(time: datetime) -> datetime:
    """Spark hands times over without a zone, in that of this process."""
    return time.astimezone(UTC)


def _utc(times: Sequence[datetime]) -> list[float]:
    """As matplotlib draws them: in UTC."""
    return [float(date2num(_aware(time))) for time in times]
