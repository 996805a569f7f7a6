"""How is a list of things printed? As a table on a terminal, as lines in a pipe, as JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fmqbus.cli.text import json_text, printable

Row = Mapping[str, Any]

json_option = click.option("--json", "as_json", is_flag=True, help="An object for each.")


def print_rows(rows: Sequence[Row], columns: Sequence[str], as_json: bool) -> None:
    """A table on a terminal, lines with tabs elsewhere; an object for each row if that is asked for."""
    console = Console()
    if as_json:
        for row in rows:
            click.echo(json_text(row))
    elif console.is_terminal:
        table = Table(*columns, box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(Text(plain(row.get(column, "?"))) for column in columns))
        console.print(table)
    else:
        for row in rows:
            click.echo("\t".join(plain(row.get(column, "?")) for column in columns))


def utc(seconds: float | None) -> str:
    """A moment in POSIX seconds, for people."""
    if seconds is None:
        return "-"
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds")
    except (ValueError, OverflowError, OSError):
        return str(seconds)  # beyond the year 9999


def plain(value: Any) -> str:
    """What does nothing to a terminal."""
    return printable(str(value).encode("utf-8", "surrogatepass"))
