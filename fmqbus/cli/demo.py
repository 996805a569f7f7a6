"""``fmqbus demo``: a bus in this process, real measurements, and what it means that publishers know who listens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import click
from rich.console import Console
from twisted.internet.task import deferLater

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config
from fmqbus.app.plugs import find_plugs
from fmqbus.cli.demo_data import load_series
from fmqbus.cli.demo_play import Play, Sensor
from fmqbus.cli.demo_view import LiveView, PlainView, summary
from fmqbus.cli.exits import EXIT_CODES
from fmqbus.cli.running import run
from fmqbus.cli.target import connected, synchronised
from fmqbus.client.fmqp import FMQPClient

#: Port 0: the kernel chooses, so that a bus that runs already is not in the way.
_LISTEN = "fmqp:tcp:0:interface=127.0.0.1"
_SCENES = 4


@click.command("demo", epilog=EXIT_CODES)
@click.option("--seconds", type=click.FloatRange(min=1), default=12.0, show_default=True, help="How long it takes.")
@click.option(
    "--rate",
    type=click.FloatRange(1, 10_000),
    default=500.0,
    show_default=True,
    help="Measurements a second, each.",
)
def command(seconds: float, rate: float) -> None:
    """Show a bus at work on real data, without any preparation.

    Starts a bus, feeds it six weather series, each published only while somebody listens, and lets listeners come and
    go.
    """
    run(lambda reactor: demo(reactor, seconds, rate))


async def demo(reactor: Any, seconds: float, rate: float) -> None:
    """Run the demonstration from the first scene to the summary."""
    console = Console()
    play = Play([Sensor(series, reactor, rate) for series in load_series()])
    view = LiveView(play, console) if console.is_terminal else PlainView(play)

    async def scene(text: str) -> None:
        view.announce(text)
        until = reactor.seconds() + seconds / _SCENES
        while (left := until - reactor.seconds()) > 0:
            step = min(view.seconds, left)
            await deferLater(reactor, step)
            view.refresh(step)

    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(_bus(reactor))
        station, dashboard, forecast = [
            await stack.enter_async_context(connected(reactor, url, FMQPClient)) for _ in range(3)
        ]
        with view:
            await play.perform(station, dashboard, forecast, scene)
        for client in (station, dashboard, forecast):
            await synchronised(reactor, client)
        console.print(summary(play))


@asynccontextmanager
async def _bus(reactor: Any) -> AsyncIterator[str]:
    """A whole bus in this process; gives its URL."""
    bus = Bus(reactor, Config(listen=(_LISTEN,)), find_plugs())
    bus.startService()
    try:
        port: Any = await bus.listeners[0].when_listening()
        yield f"fmqp://127.0.0.1:{port.getHost().port}"
    finally:
        await bus.stopService()
