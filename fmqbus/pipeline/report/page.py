"""The report as one HTML page that needs nothing else: no script, no network. What peers have chosen is escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fmqbus import __version__
from fmqbus.pipeline.report import plots
from fmqbus.pipeline.report.figures import Figures
from fmqbus.pipeline.telling import cell


def page(figures: Figures) -> str:
    """Return the page."""
    environment = Environment(
        loader=PackageLoader("fmqbus.pipeline.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": _cell, "octets": octets, "time": _time}
    drawn = {}
    if figures.traffic:
        drawn = {
            # matplotlib escapes the names in it
            name: Markup(draw(figures))
            for name, draw in (
                ("messages", plots.message_rate),
                ("octets", plots.octet_rate),
                ("latency", plots.latency),
            )
        }
    return environment.get_template("page.html").render(figures=figures, plots=drawn, version=__version__)


def octets(count: int) -> str:
    """A number of octets for people."""
    size, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:,.0f} {units[0]}" if units[0] == "B" else f"{size:,.1f} {units[0]}"


def _cell(value: Any) -> str:
    return _time(value) if isinstance(value, datetime) else cell(value)


def _time(value: datetime) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
