"""How are single messages of a queue named on the command line, and what is said if not all could be served?"""

from __future__ import annotations

from collections.abc import Sequence

import click

from fmqbus.cli.exits import CommandFailed
from fmqbus.cli.rows import Row
from fmqbus.cli.target import check_name, split_url
from fmqbus.cli.text import json_text

#: In one request.
_MOST_NUMBERS = 100


def split_numbers(words: Sequence[str]) -> tuple[str, str, list[int]]:
    """Return the URL, the queue and the numbers. Raises `click.UsageError`."""
    url, rest = split_url(words)
    if not rest:
        raise click.UsageError("give one queue")
    check_name(rest[0], "queue")
    return url, rest[0], check_numbers(rest[1:])


def check_numbers(words: Sequence[str]) -> list[int]:
    """Return the numbers. Raises `click.UsageError` for what is none, or too many of them."""
    for word in words:
        if not (word.isascii() and word.isdecimal() and len(word) < 20):
            raise click.UsageError(f"{word!r} is not the number of a message")
    if len(words) > _MOST_NUMBERS:
        raise click.UsageError(f"{len(words)} numbers, at most {_MOST_NUMBERS}")
    return [int(word) for word in words]


def tell_done(answer: Row, done: str, as_json: bool, held: str, stayed: str = "") -> None:
    """Print how many there were. Raises `CommandFailed` if something was not done, with `held` and `stayed` as the
    reasons."""
    click.echo(json_text(answer) if as_json else answer[done])
    reasons = {"held": held, "stayed": stayed, "missing": "not there"}
    left = [f"{', '.join(map(str, answer[why]))}: {reason}" for why, reason in reasons.items() if answer.get(why)]
    if left:
        raise CommandFailed("; ".join(left))
