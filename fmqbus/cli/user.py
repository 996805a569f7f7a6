"""``fmqbus user``: say who there is, in the file that a bus reads (docs/users.md).

A password is never a word of the command line, where each user of the machine sees it: it is asked for, or it is the
first line of standard input.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from fmqbus.auth.passwords import (
    DEFAULT_ITERATIONS,
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    MOST_PASSWORD_OCTETS,
    check_name,
    make_secret,
    prepared,
)
from fmqbus.auth.user_file import Keys, User, UserFile, check_user, locked, new_file, read_users, write_users
from fmqbus.cli.exits import CommandFailed
from fmqbus.cli.rows import json_option, print_rows
from fmqbus.errors import LocalError

_EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong usage. A bus takes changes over when it gets SIGHUP."

_file = click.argument("file", type=click.Path(path_type=Path))
_iterations = click.option(
    "--iterations",
    type=click.IntRange(LEAST_ITERATIONS, MOST_ITERATIONS),
    default=DEFAULT_ITERATIONS,
    show_default=True,
    help="What guessing the password costs, and each login with it.",
)
_cram_md5 = click.option("--cram-md5", is_flag=True, help="Keep the password readable, too, for old clients.")


@click.group("user", epilog=_EXIT_CODES)
def command() -> None:
    """Say who may log in to a bus: add, passwd, list and remove users in a file."""


@command.command(epilog=_EXIT_CODES)
@_file
@click.argument("name")
@click.option("--group", "groups", multiple=True, help="The user is in this group. May be repeated.")
@click.option(
    "--external",
    multiple=True,
    metavar="FACT",
    help="Whoever comes so is this user: uid:NUMBER, cert:SHA256, key:Z85, san:dns:NAME, san:uri:NAME, san:email:NAME. "
    "Repeatable.",
)
@click.option("--no-password", is_flag=True, help="The user comes by --external only.")
@_iterations
@_cram_md5
def add(
    file: Path,
    name: str,
    groups: tuple[str, ...],
    external: tuple[str, ...],
    no_password: bool,
    iterations: int,
    cram_md5: bool,
) -> None:
    """Add the user NAME to FILE, which is made if there is none."""
    if no_password and (cram_md5 or not external):
        raise click.UsageError("a user without a password needs --external, and no --cram-md5")
    user = User(groups=groups, external=external)
    try:
        check_name(name)
        check_user(user)
    except LocalError as error:
        raise click.BadParameter(str(error)) from None
    if not no_password:
        user = _with_password(user, iterations, cram_md5)

    def change(users: dict[str, User]) -> None:
        if name in users:
            raise CommandFailed(f"there is a user {name!a} already")
        users[name] = user

    _change(file, change, may_be_new=True)


@command.command(epilog=_EXIT_CODES)
@_file
@click.argument("name")
@_iterations
@_cram_md5
def passwd(file: Path, name: str, iterations: int, cram_md5: bool) -> None:
    """Give the user NAME in FILE another password."""
    fresh = _with_password(User(), iterations, cram_md5)

    def change(users: dict[str, User]) -> None:
        users[name] = msgspec.structs.replace(
            _known(users, name), scram_sha_256=fresh.scram_sha_256, cram_md5=fresh.cram_md5
        )

    _change(file, change)


@command.command(epilog=_EXIT_CODES)
@_file
@click.argument("name")
def remove(file: Path, name: str) -> None:
    """Take the user NAME out of FILE."""

    def change(users: dict[str, User]) -> None:
        _known(users, name)
        del users[name]

    _change(file, change)


@command.command("list", epilog=_EXIT_CODES)
@_file
@json_option
def list_(file: Path, as_json: bool) -> None:
    """Print the users in FILE: names, groups, how they can log in, and by what EXTERNAL knows them."""
    with _told():
        users = read_users(file).users
    rows = [_row(name, user) for name, user in sorted(users.items())]
    if not as_json:
        rows = [{key: each if key == "user" else " ".join(each) for key, each in row.items()} for row in rows]
    print_rows(rows, ("user", "groups", "by", "external"), as_json)


def _row(name: str, user: User) -> dict[str, Any]:
    ways = {"password": user.scram_sha_256, "cram-md5": user.cram_md5, "external": user.external}
    by = [way for way, has in ways.items() if has]
    return {"user": name, "groups": user.groups, "by": by, "external": user.external}


def _known(users: dict[str, User], name: str) -> User:
    if name not in users:
        raise CommandFailed(f"there is no user {name!a}")
    return users[name]


def _change(path: Path, change: Callable[[dict[str, User]], None], may_be_new: bool = False) -> None:
    with _told(), locked(path):
        file = new_file() if may_be_new and not path.exists() else read_users(path)
        users = dict(file.users)
        change(users)
        write_users(path, UserFile(file.format, file.decoys, users))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except LocalError as error:
        raise CommandFailed(str(error)) from None


def _with_password(user: User, iterations: int, cram_md5: bool) -> User:
    password = _password()
    with _told():
        keys = Keys.of(make_secret(password, iterations))
        return msgspec.structs.replace(
            user, scram_sha_256=keys, cram_md5=prepared(password).encode() if cram_md5 else None
        )


def _password() -> str:
    """Ask a human being twice; take a program at its first line."""
    if sys.stdin.isatty():
        asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True)
        return asked
    line = sys.stdin.buffer.readline(MOST_PASSWORD_OCTETS + 2)
    try:
        return line.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        raise CommandFailed("the password is no UTF-8") from None
