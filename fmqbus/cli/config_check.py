"""``fmqbus config check``: would a bus start with this file?"""

from __future__ import annotations

from pathlib import Path

import click

from fmqbus.app.assembly import Bus
from fmqbus.app.config import read_config
from fmqbus.app.plugs import find_plugs
from fmqbus.cli.exits import CommandFailed
from fmqbus.errors import ConfigError


@click.group("config")
def command() -> None:
    """Check a configuration file."""


@command.command("check")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--file-only", is_flag=True, help="Do not look at what is installed here: parts, certificates, sockets.")
def check(file: Path, file_only: bool) -> None:
    """Print OK if a bus would start with FILE, else what is wrong and where.

    Nothing is opened or listened at. Exit codes: 0 good, 1 not, 2 wrong usage.
    """
    try:
        config = read_config(file)
        if not file_only:
            from twisted.internet import reactor

            Bus(reactor, config, find_plugs())
    except ConfigError as error:
        raise CommandFailed(str(error)) from None
    click.echo("OK")
