"""``fmqbus seal``: closed segments of a journal become tables, once or again and again."""

from __future__ import annotations

import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import click

from fmqbus.journal.errors import JournalError
from fmqbus.journal.places import TableLine
from fmqbus.journal.sealing import SealSettings, seal

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_OCTETS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


class _Amount(click.ParamType):  # type: ignore[type-arg]  # not generic in the oldest click that we take
    """A number with a unit."""

    def __init__(self, name: str, units: dict[str, int]) -> None:
        self.name = name
        self._units = units

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)", value.strip().lower())
        if found is None or found[2] not in self._units:
            self.fail(
                f"{value!r}: a number and one of {', '.join(filter(None, self._units))}, such as 7{max(self._units)}"
            )
        return float(found[1]) * self._units[found[2]]


@click.command("seal")
@click.argument("journal", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--every", type=_Amount("time", _SECONDS), help="Do it again and again, such as every 60s.")
@click.option("--wait", type=_Amount("time", _SECONDS), default=0, help="Leave segments until so old. [default: 0s]")
@click.option("--keep", type=_Amount("time", _SECONDS), help="Trim away what is older, such as 30d.")
@click.option("--keep-octets", type=_Amount("octets", _OCTETS), help="Trim away the oldest beyond so much, as 100g.")
def command(journal: Path, every: float | None, wait: float, keep: float | None, keep_octets: float | None) -> None:
    """Make compressed tables of the closed segments of JOURNAL.

    Nothing that a named reader still needs is trimmed away. The broker may run meanwhile. Exit code 1 if something
    could not be sealed.
    """
    settings = SealSettings(
        wait_seconds=wait, keep_seconds=keep, keep_octets=None if keep_octets is None else int(keep_octets)
    )
    enough = threading.Event()
    if every is not None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: enough.set())
    while True:
        try:
            sealed = seal(journal, settings, time.time(), _tell)
        except (JournalError, OSError) as error:
            raise click.ClickException(str(error)) from None
        for line in sealed.trimmed:
            click.echo(f"trimmed {line.file}")
        for fault in sealed.faults:
            click.echo(fault, err=True)
        if every is None:
            raise SystemExit(1 if sealed.faults else 0)
        if enough.wait(every):
            return


def _tell(line: TableLine) -> None:
    click.echo(f"sealed {line.file}: {line.end - line.first:,} rows, {line.octets:,} octets")
