"""Figures that a program writes into a page of the documentation, with where they come from."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import fmqbus
import twisted

Cells = Sequence[str]


def table(head: Cells, alignment: Cells, rows: Iterable[Cells]) -> str:
    """A table in Markdown. The alignment of a column is ``---`` or ``--:``."""
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, alignment, *rows))


def write(page: Path, place: str, text: str, command: str) -> None:
    """Put what a command has measured into its place on the page, between ``<!-- PLACE: begin -->`` and the end."""
    begin, end = f"<!-- {place}: begin -->", f"<!-- {place}: end -->"
    before, _, rest = page.read_text().partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"{page} has no place for {place}"
    made = f"Measured on {datetime.date.today():%Y-%m-%d} by `{command}`: {_versions()}, on {_machine()}."
    page.write_text(f"{before}{begin}\n\n{made}\n\n{text}\n{end}{after}")


def _versions() -> str:
    return f"fmqbus {fmqbus.__version__}, Twisted {twisted.__version__}, Python {platform.python_version()}"


def _machine() -> str:
    facts = Path("/proc/cpuinfo").read_text().splitlines()
    cores = [line.partition(":")[2].strip() for line in facts if line.startswith("model name")]
    return f"{len(cores)} cores of {cores[0] if cores else platform.machine()}, {platform.platform(terse=True)}"
