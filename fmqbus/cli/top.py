"""``fmqbus top``: who is busy, who is slow, what waits, what is lost, and what goes by, live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import click
from rich.console import Console
from rich.live import Live
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.task import deferLater

from fmqbus.cli.exits import EXIT_CODES, CommandFailed
from fmqbus.cli.overview import Observation, Overview
from fmqbus.cli.requests import ask
from fmqbus.cli.running import run
from fmqbus.cli.target import FMQP_URL_HELP, check_topics, connected, require, split_url
from fmqbus.cli.text import json_text
from fmqbus.cli.top_view import Shown, plain_lines, screen
from fmqbus.cli.traffic import Traffic
from fmqbus.client.fmqp import FMQPClient

#: A wildcard stands for one level; so everything is a pattern for each depth.
EVERYTHING = tuple("/".join("*" * depth) for depth in range(1, 9))
INFORMATION = ("$/info/*", "$/info/*/*")

_STATUS = "$/manage/status"
#: A bus that lets us answers at once; one that does not says nothing.
_STATUS_SECONDS = 2.0


@click.command(
    "top",
    epilog=EXIT_CODES,
    help="Show what a bus is doing: protocols, what is lost and refused, the slowest and busiest peers, the fullest "
    "queues, and the busiest topics under each PATTERN (all of up to eight levels).\n\nPeers and queues take the right "
    f"to control {_STATUS}, which whoever is on the bus's machine has by default. To see topics, all that is published "
    "under them comes here too; --no-topics spares a busy bus that. Publishers that watch for demand do not notice.\n\n"
    f"Where the output is no terminal, it is shown once.\n\n{FMQP_URL_HELP}",
)
@click.argument("words", nargs=-1, metavar="[URL] [PATTERN]...")
@click.option("--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds.")
@click.option("--most", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many of each.")
@click.option("--no-topics", is_flag=True, help="Listen to nothing that is published.")
@click.option("--once", is_flag=True, help="End after one interval.")
@click.option("--json", "as_json", is_flag=True, help="An object for each interval.")
def command(words: tuple[str, ...], interval: float, most: int, no_topics: bool, once: bool, as_json: bool) -> None:
    """Read the command line."""
    url, patterns = split_url(words)
    require(url, "top", "fmqp")
    check_topics(patterns)
    if no_topics and patterns:
        raise click.UsageError("give patterns, or --no-topics")
    listened = () if no_topics else patterns or EVERYTHING
    console = Console()
    once = once or not (as_json or console.is_terminal)
    run(lambda reactor: top(reactor, url, listened, interval, most, once, _display(console, as_json, once)))


async def top(
    reactor: Any,
    url: str,
    patterns: Sequence[str],
    interval: float,
    most: int,
    once: bool,
    display: Any,
) -> None:
    """Show one moment after the other until interrupted, or one."""
    traffic = Traffic()
    async with connected(reactor, url, FMQPClient) as client:
        client.subscribe(*patterns, *INFORMATION, debug=True, callback=traffic.add)
        status = _Status(reactor, client, most)
        since = reactor.seconds()
        await status.look()
        with display as show:
            while True:
                await deferLater(reactor, interval)
                now = reactor.seconds()
                sample = traffic.sample(now - since, most)
                since = now
                show(Shown(sample, await status.look(), status.complaint))
                if once:
                    return


class _Status:
    """What the bus tells of itself, as long as it does."""

    def __init__(self, reactor: Any, client: FMQPClient, most: int) -> None:
        self._reactor = reactor
        self._client = client
        self._most = most
        self._observation = Observation()
        self._looked_at: float | None = None
        #: Why it does not.
        self.complaint = ""

    async def look(self) -> Overview | None:
        """The overview of now; None where there is none."""
        if self.complaint:
            return None
        asking = Deferred.fromCoroutine(ask(self._reactor, self._client, _STATUS, do="show", most=self._most))
        try:
            answer = await asking.addTimeout(_STATUS_SECONDS, self._reactor)
        except CancelledError:
            raise  # interrupted
        except TimeoutError:
            self.complaint = (
                f"Protocols, peers and queues are not shown: it takes the right to control {_STATUS}, "
                "which a rule gives, and by default being on the bus's machine."
            )
            return None
        except CommandFailed:
            return None  # the connection is lost, which is told elsewhere; or the bus ends
        now = self._reactor.seconds()
        seconds = 0.0 if self._looked_at is None else now - self._looked_at
        self._looked_at = now
        return self._observation.look(answer, seconds)


@contextmanager
def _display(console: Console, as_json: bool, once: bool) -> Iterator[Callable[[Shown], object]]:
    """What shows a moment: a live screen on a terminal, plain lines elsewhere, JSON where asked for."""
    if as_json:
        yield lambda shown: click.echo(json_text(_fields(shown)))
    elif not console.is_terminal:
        yield lambda shown: click.echo(plain_lines(shown))
    elif once:
        yield lambda shown: console.print(screen(shown, console))
    else:
        with Live(console=console, auto_refresh=False, screen=True) as view:
            yield lambda shown: view.update(screen(shown, console), refresh=True)


def _fields(shown: Shown) -> dict[str, Any]:
    overview = None if shown.overview is None else attrs.asdict(shown.overview)
    return {**shown.sample.to_fields(), "status": overview}
