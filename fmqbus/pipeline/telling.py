"""How is a result told: as a table in the terminal, or as files?

What is in it, peers have chosen. So nothing of it may do anything to a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Spark's writers for ``--format``; delta where the user has it (--packages).
FORMATS = ("parquet", "csv", "json", "orc", "delta")

#: Columns of a line that nobody looks at in a terminal.
_WIDE = 240

_HARMFUL = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def in_order(frame: DataFrame, order: Sequence[str]) -> DataFrame:
    """Sort for people: a minus before a column means the largest first."""
    from pyspark.sql import functions as F

    keys = [F.col(name[1:]).desc_nulls_last() if name[0] == "-" else F.col(name).asc_nulls_last() for name in order]
    return frame.orderBy(*keys) if keys else frame


def show(frame: DataFrame, title: str, most: int, console: Console | None = None) -> None:
    """Print the first rows as a table."""
    rows = frame.limit(most + 1).collect()
    table = table_of(title, frame.columns, [row.asDict() for row in rows[:most]])
    (console or terminal()).print(table)
    if len(rows) > most:
        click.echo(f"There are more than these {most}; --rows shows more, --out writes all.", err=True)
    elif not rows:
        click.echo("There is nothing to tell.", err=True)


def terminal() -> Console:
    """Where results are printed: a terminal as wide as it is, a file or a pipe as wide as rows are."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


def table_of(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table for a terminal; numbers stand to the right."""
    table = Table(title=title, title_justify="left")
    for name in columns:
        is_number = any(isinstance(row[name], int | float) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold", no_wrap=is_number)
    for row in rows:
        table.add_row(*(Text(cell(row[name])) for name in columns))
    return table


def cell(value: Any) -> str:
    """One value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, bytes | bytearray):
        return printable(bytes(value).decode("utf-8", "backslashreplace"))
    return printable(str(value))


def printable(text: str) -> str:
    """Text that does nothing to a terminal: what is not printable is shown by its code, as ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in _HARMFUL else char
        for char in text
    )


def write(frame: DataFrame, out: str, form: str, mode: str, parts: Sequence[str] = ()) -> None:
    """Write a result as files; parts that are written anew take the place of those that were there."""
    writer = frame.write.format(form).mode(mode)
    if form == "csv":
        writer = writer.option("header", "true")
    if form == "parquet":
        writer = writer.option("compression", "zstd").option("partitionOverwriteMode", "dynamic" if parts else "static")
    if parts:
        writer = writer.partitionBy(*parts)
    writer.save(out)
