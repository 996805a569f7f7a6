"""``fmqbus keys``: make key pairs of CURVE, for ZeroMQ's sockets, and look at keys (docs/zeromq-security.md).

A secret key is never a word of a command line, nor printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from fmqbus.cli.exits import CommandFailed
from fmqbus.cli.rows import json_option, print_rows
from fmqbus.errors import LocalError
from fmqbus.transports.zeromq.key_folder import KeyFolder
from fmqbus.transports.zeromq.key_writing import write_new_pair
from fmqbus.transports.zeromq.keys import PUBLIC_SUFFIX, KeyPair, read_any

_EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong usage. A bus takes changes over when it gets SIGHUP."


@click.group("keys", epilog=_EXIT_CODES)
def command() -> None:
    """Make keys of CURVE, by which a bus and its clients know each other over ZeroMQ, and look at them."""


@command.command(epilog=_EXIT_CODES)
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=".",
    help="The folder for both files; this one by default.",
)
@click.argument("name")
def new(folder: Path, name: str) -> None:
    """Make a key pair: NAME.key_secret, which only you can read, and NAME.key for everybody. Prints the public key.

    Nothing is overwritten.
    """
    pair = KeyPair.new()
    with _told():
        write_new_pair(folder, name, pair)
    click.echo(pair.public)


@command.command(epilog=_EXIT_CODES)
@click.argument("paths", metavar="PATH...", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
@json_option
def show(paths: tuple[Path, ...], as_json: bool) -> None:
    """Print the public keys in files, or in folders of clients' keys as a bus would read them, with their names."""
    rows = []
    for path in paths:
        with _told():
            keys = KeyFolder(path).read() if path.is_dir() else dict.fromkeys(read_any(path), path.name)
        rows += [{"key": key, "name": name.partition(PUBLIC_SUFFIX)[0]} for key, name in keys.items()]
    print_rows(rows, ("key", "name"), as_json)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except LocalError as error:
        raise CommandFailed(str(error)) from None
