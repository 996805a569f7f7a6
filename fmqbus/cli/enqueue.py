"""``fmqbus enqueue``: hand in a job, and perhaps wait for its result."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import click

from fmqbus.calls import EXPIRED
from fmqbus.cli.call import argument
from fmqbus.cli.exits import EXIT_CODES, CommandFailed, TimedOut
from fmqbus.cli.running import run
from fmqbus.cli.target import LIMITS
from fmqbus.cli.text import printable
from fmqbus.client.emqp import EMQPClient, HowFar
from fmqbus.errors import CallFailed
from fmqbus.protocols.emqp.addresses import DEFAULT_CLIENT_ADDRESS, FRONTEND_PORT, destination


@attrs.frozen
class Order:
    """What is to be done, and how."""

    broker: str
    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    #: What the client takes besides.
    options: Mapping[str, Any]
    #: Seconds to wait for the result; None: it is not waited for.
    deadline: float | None


@click.command(
    "enqueue",
    epilog=EXIT_CODES,
    help="Hand in a job for workers, and print its id; with --wait, its result.\n\n"
    "NAME is module:function or module:Class.method, as the workers know it; nothing is imported here. An ARG that is "
    "JSON is sent as what it says, any other as text. If the broker says nothing within ten seconds, or the result "
    "does not come in time, the job may be done all the same: to enter the command again may have it done twice.",
)
@click.argument("name", metavar="NAME")
@click.argument("words", nargs=-1, metavar="[ARG]...")
@click.option("--kwarg", "pairs", multiple=True, metavar="NAME=ARG", help="An argument by name; may be repeated.")
@click.option("--queue", default="default", show_default=True)
@click.option("--wait", is_flag=True, help="Wait for the result and print it: text as it is, all else as JSON.")
@click.option(
    "--deadline",
    type=click.FloatRange(min=0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds to wait for the result.",
)
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds; then the job is killed. 0 is without limit.")
@click.option("--retry-count", type=click.IntRange(min=0), default=0, help="How often it is run again if it fails.")
@click.option("--guarantee", is_flag=True, help="Keep it until somebody has done it, whatever happens to workers.")
@click.option(
    "--broker",
    default=DEFAULT_CLIENT_ADDRESS,
    envvar="FMQBUS_BROKER",
    show_default=True,
    show_envvar=True,
    help="emqp://HOST[:PORT], or tcp:// as EventMQ writes it; emqp://HOST?server-key=FILE&key=FILE with CURVE.",
)
def command(
    name: str,
    words: Sequence[str],
    pairs: Sequence[str],
    queue: str,
    wait: bool,
    deadline: float,
    timeout: float | None,
    retry_count: int,
    guarantee: bool,
    broker: str,
) -> None:
    """Read the command line."""
    options = {
        "queue": queue,
        "timeout": timeout,
        "retry_count": retry_count,
        "guarantee": guarantee,
        "reply": wait,
        "progressed": _show if wait and sys.stderr.isatty() else None,
    }
    args = [argument(word) for word in words]
    order = Order(broker, name, args, _named(pairs), options, deadline if wait else None)
    run(lambda reactor: enqueue(reactor, order))


def _named(pairs: Sequence[str]) -> Mapping[str, Any]:
    named = {}
    for pair in pairs:
        name, equals, word = pair.partition("=")
        if not (equals and name.isidentifier()):
            raise click.BadParameter(f"{pair!r}: write NAME=ARG")
        named[name] = argument(word)
    return named


def _show(how_far: HowFar) -> None:
    note = printable(how_far.note.encode("utf-8", "backslashreplace"))
    click.echo(f"{how_far.fraction:4.0%} {note}", err=True)


async def enqueue(reactor: Any, order: Order) -> None:
    """Hand it in, and print what comes of it. Raises `CommandFailed` if it fails."""
    passport = destination(order.broker, FRONTEND_PORT).passport(os.environ)
    client = EMQPClient(order.broker, reactor, limits=LIMITS, passport=passport)
    client.startService()
    try:
        job = await client.submit(order.name, order.args, order.kwargs, **order.options)
        if order.deadline is None:
            click.echo(job.id)
            return
        value = await job.result(order.deadline)
    except CallFailed as failure:
        text = printable(str(failure).encode("utf-8", "backslashreplace"))
        raise (TimedOut if failure.reason == EXPIRED else CommandFailed)(text) from None
    finally:
        await client.stopService()
    if isinstance(value, str):
        click.echo(printable(value.encode("utf-8", "backslashreplace")))
    else:
        click.echo(json.dumps(value))
