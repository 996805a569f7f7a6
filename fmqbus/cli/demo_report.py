"""What does the demonstration's journal tell? Spark is asked, where there is one and the Java that it needs."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from twisted.internet.threads import deferToThread

from fmqbus.errors import LocalError

_COMMAND = (sys.executable, "-m", "fmqbus.pipeline", "report")


async def report(journal: Path, page: Path) -> None:
    """Write a page about what happened, and say where it lies; or in one sentence why there is none."""
    if find_spec("pyspark") is None:
        click.echo("No report: Spark is not installed (pip install 'fmqbus[demo]').")
        return
    from fmqbus.pipeline.java import find_java

    try:
        find_java()
    except LocalError as error:
        click.echo(f"No report: {error}")
        return
    click.echo("Asking Spark what happened; that takes half a minute on an idle machine.")
    done: Any = await deferToThread(
        subprocess.run, [*_COMMAND, str(journal), "--out", str(page)], capture_output=True, text=True
    )
    if done.returncode:
        click.echo(f"No report: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'Spark failed'}")
    else:
        click.echo(f"What happened on the bus: {page.as_uri()}")
        click.echo(
            "(It is about all messages of the bus. What feedback has saved was counted here, and is estimated there.)"
        )
