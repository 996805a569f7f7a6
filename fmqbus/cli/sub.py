"""``fmqbus sub``: print what is published, a line for each message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import click

from fmqbus.cli.enough import show_until_enough
from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.forms import checked_form, form_options
from fmqbus.cli.running import run
from fmqbus.cli.target import URL_HELP, check_topics, client_of, connected, protocol_of, require, split_url
from fmqbus.cli.text import Form, message_line
from fmqbus.errors import BusError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.filters import parse_filter

#: Protocols that can hide a subscription, and what their clients call that.
_DEBUG: Mapping[str, str] = {"fmqp": "debug", "umq": "hidden"}


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
    #: What `subscribe` takes besides.
    options: Mapping[str, Any]


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
@click.option("--filter", "filters", multiple=True, help="As in price>=N10 or city=TBern; all must hold. MicroMsg2.")
@click.option("--no-topic", is_flag=True, help="Print payloads only.")
@form_options
def command(
    words: tuple[str, ...],
    count: int | None,
    timeout: float | None,
    debug: bool,
    filters: tuple[str, ...],
    no_topic: bool,
    form: Form | None,
) -> None:
    """Read the command line."""
    url, patterns = split_url(words)
    if not patterns:
        raise click.UsageError("give at least one pattern")
    options: dict[str, Any] = {}
    if debug:
        require(url, "--debug", *_DEBUG)
        options[_DEBUG[protocol_of(url)]] = True
    if filters:
        require(url, "--filter", "micromsg2")
        _check_filters(filters)
        options["filters"] = filters
    order = Order(url, check_topics(patterns), checked_form(form), not no_topic, count, timeout, options)
    run(lambda reactor: subscribe(reactor, order))


def _check_filters(filters: Sequence[str]) -> None:
    try:
        parse_filter(filters, DEFAULT_LIMITS)
    except BusError as error:
        raise click.BadParameter(str(error)) from None


async def subscribe(reactor: Any, order: Order) -> None:
    """Print messages until there have been enough, or time is up."""
    async with connected(reactor, order.url, client_of(order.url)) as client:
        with client.subscribe(*order.patterns, **order.options) as subscription:
            await show_until_enough(
                reactor,
                subscription,
                lambda message: click.echo(message_line(message, order.form, order.with_topic), nl=False),
                order.count,
                order.timeout,
            )
