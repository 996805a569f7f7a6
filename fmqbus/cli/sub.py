"""``fmqbus sub``: print what is published, a line for each message."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import attrs
import click

from fmqbus.cli.enough import show_until_enough
from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.cli.target import URL_HELP, check_topics, connected, split_url
from fmqbus.cli.text import Form, message_line


@attrs.frozen
class Order:
    """What is to be printed, and how."""

    url: str
    patterns: Sequence[str]
    form: Form
    with_topic: bool
    #: None: for ever.
    count: int | None
    timeout: float | None
    debug: bool


@click.command(
    "sub",
    epilog=EXIT_CODES,
    help="Print the messages under each PATTERN, in which * stands for any one level.\n\n"
    "What is not printable is shown by its code; --hex, --json and --raw keep every octet. With --timeout alone the "
    f"end is a success, with --count too it is 4.\n\n{URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] PATTERN...")
@click.option("--count", type=click.IntRange(min=1), help="End after so many messages.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="End after so many seconds.")
@click.option("--debug", is_flag=True, help="Hide this subscription from publishers that watch for demand.")
@click.option("--no-topic", is_flag=True, help="Print payloads only.")
@click.option("--hex", "form", flag_value=Form.HEX, type=Form, help="Payloads in hexadecimal.")
@click.option("--json", "form", flag_value=Form.JSON, type=Form, help="An object for each message.")
@click.option("--raw", "form", flag_value=Form.RAW, type=Form, help="The payloads' own octets and nothing else.")
def command(
    words: tuple[str, ...], count: int | None, timeout: float | None, debug: bool, no_topic: bool, form: Form | None
) -> None:
    """Read the command line."""
    url, patterns = split_url(words)
    if not patterns:
        raise click.UsageError("give at least one pattern")
    if form is Form.RAW and sys.stdout.isatty():
        raise click.UsageError("raw octets could do anything to this terminal; use --hex, or a pipe")
    order = Order(url, check_topics(patterns), form or Form.TEXT, not no_topic, count, timeout, debug)
    run(lambda reactor: subscribe(reactor, order))


async def subscribe(reactor: Any, order: Order) -> None:
    """Print messages until there have been enough, or time is up."""
    async with connected(reactor, order.url) as client:
        with client.subscribe(*order.patterns, debug=order.debug) as subscription:
            await show_until_enough(
                reactor,
                subscription,
                lambda message: click.echo(message_line(message, order.form, order.with_topic), nl=False),
                order.count,
                order.timeout,
            )
