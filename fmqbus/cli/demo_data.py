"""Which real data does the demonstration feed? Weather at Seattle and San Francisco, measured by NOAA, public domain.

The files come with the PyPI package vega_datasets. Only they are read: importing the package would load pandas.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import attrs

from fmqbus.cli.exits import CommandFailed

#: File → column → topic. Daily values of 2012 to 2015 and hourly ones of 2010.
TOPICS = {
    "seattle-weather.csv": {
        "precipitation": "weather/seattle/precipitation",
        "temp_max": "weather/seattle/warmest",
        "temp_min": "weather/seattle/coldest",
        "wind": "weather/seattle/wind",
    },
    "seattle-temps.csv": {"temp": "weather/seattle/temperature"},
    "sf-temps.csv": {"temp": "weather/sf/temperature"},
}


@attrs.frozen
class Series:
    """One column of measurements."""

    topic: str
    #: JSON, such as ``{"date": "2012/01/01", "value": 12.8}``.
    payloads: Sequence[bytes]


def load_series() -> list[Series]:
    """Return all series. Raises `CommandFailed` if the package is not installed."""
    package = find_spec("vega_datasets")
    if package is None or package.origin is None:
        raise CommandFailed("the demonstration's data is not installed: pip install 'fmqbus[demo]'")
    folder = Path(package.origin).parent / "_data"
    return [
        Series(topic, _payloads(folder / file, column))
        for file, columns in TOPICS.items()
        for column, topic in columns.items()
    ]


def _payloads(path: Path, column: str) -> list[bytes]:
    with path.open(newline="", encoding="utf-8") as file:
        return [json.dumps({"date": row["date"], "value": float(row[column])}).encode() for row in csv.DictReader(file)]
