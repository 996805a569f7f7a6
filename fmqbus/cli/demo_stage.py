"""Where does the demonstration take place? On one bus in this process that speaks all five protocols, and keeps a
journal; and who is there? A client of each protocol, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import attrs

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config
from fmqbus.app.config_journal import JournalTable
from fmqbus.app.plugs import find_plugs
from fmqbus.cli.demo_work import MEAN, WORK
from fmqbus.cli.target import connected
from fmqbus.client.fmqp import FMQPClient
from fmqbus.client.micromsg2 import MicroMsg2Client
from fmqbus.client.mtl import MTLClient
from fmqbus.client.umq import UMQClient
from fmqbus.worker.service import WorkerService, WorkerSettings

#: Port 0: the kernel chooses, so that a bus that runs already is not in the way.
_LISTEN = (
    "fmqp:tcp:0:interface=127.0.0.1",
    "umq:tcp:0:interface=127.0.0.1",
    "mtl:zmq:0:interface=127.0.0.1",
    "micromsg2:tcp:0:interface=127.0.0.1",
    "emqp:zmq:frontend=0:backend=0:interface=127.0.0.1",
)


@attrs.frozen
class Cast:
    """Who is on the stage."""

    #: Measures, and publishes what somebody wants.
    station: FMQPClient
    #: Shows what there is, as a page in a browser would.
    dashboard: UMQClient
    #: Looks at temperatures, and puts aside what is remarkable.
    forecast: MTLClient
    #: Takes what was put aside.
    archive: MicroMsg2Client


@asynccontextmanager
async def stage(reactor: Any, journal: str | None) -> AsyncIterator[Cast]:
    """Everybody, connected; besides them a worker of eMQP that reckons means. `journal` is the folder of the journal,
    if there is to be one."""
    async with AsyncExitStack() as stack:
        ports = await stack.enter_async_context(_bus(reactor, journal))
        await stack.enter_async_context(_worker(reactor, ports["backend"]))
        yield Cast(
            await stack.enter_async_context(connected(reactor, f"fmqp://127.0.0.1:{ports['fmqp']}", FMQPClient)),
            await stack.enter_async_context(connected(reactor, f"ws://127.0.0.1:{ports['umq']}/umq", UMQClient)),
            await stack.enter_async_context(connected(reactor, f"mtl://127.0.0.1:{ports['control']}", MTLClient)),
            await stack.enter_async_context(
                connected(reactor, f"micromsg2://127.0.0.1:{ports['micromsg2']}", MicroMsg2Client)
            ),
        )


@asynccontextmanager
async def _bus(reactor: Any, journal: str | None) -> AsyncIterator[Mapping[str, int]]:
    """A whole bus; gives its ports, by protocol, or by socket where a protocol has several."""
    bus = Bus(reactor, Config(listen=_LISTEN, journal=JournalTable(path=journal)), find_plugs())
    bus.startService()
    try:
        ports: dict[str, int] = {}
        for listener in bus.listeners:
            place: Any = await listener.when_listening()
            ports |= getattr(place, "ports", None) or {listener.protocol.name: place.getHost().port}
        yield ports
    finally:
        await bus.stopService()


@asynccontextmanager
async def _worker(reactor: Any, port: int) -> AsyncIterator[None]:
    settings = WorkerSettings.told(
        broker=f"tcp://127.0.0.1:{port}", queues=WORK, modules=(), allowed=(MEAN,), processes=1
    )
    worker = WorkerService(reactor, settings)
    worker.startService()
    try:
        yield
    finally:
        await worker.stopService()
