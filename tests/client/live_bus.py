"""A whole bus in the process of the test, and what a client needs to trust it."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import attrs
from cryptography import x509
from twisted.internet import reactor

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config
from fmqbus.app.plugs import Plug, find_plugs
from fmqbus.client.reconnecting import ReconnectingClient
from fmqbus.interfaces import IUMQMethod
from tests.transports.certificates import issue

C = TypeVar("C", bound=ReconnectingClient)


@asynccontextmanager
async def bus_at(*listen: str, methods: Sequence[Any] = (), **settings: Any) -> AsyncIterator[list[int]]:
    """A whole bus in this process, with more methods for UMQ if need be, and more settings of `Config`; gives the ports
    that the kernel chose, 0 where there are none."""
    plugs = find_plugs()
    vendors = (Plug(IUMQMethod, method.name, "this test", method) for method in methods)
    bus = Bus(reactor, Config(listen=listen, **settings), attrs.evolve(plugs, found=(*plugs.found, *vendors)))
    bus.startService()
    try:
        hosts: list[Any] = [(await listener.when_listening()).getHost() for listener in bus.listeners]
        yield [getattr(host, "port", 0) for host in hosts]
    finally:
        await bus.stopService()


@asynccontextmanager
async def running(client: C) -> AsyncIterator[C]:
    """A client, connected; raises what the first attempt to connect has failed with."""
    client.startService()
    try:
        await client.when_connected(attempts=1)
        yield client
    finally:
        await client.stopService()


def tls_listen(protocol: str, folder: Path) -> str:
    """A listen string with a certificate for the loopback address; its authority is in ``ca.pem``."""
    authority = issue("authority")
    key, certificate = issue("bus", authority, [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]).write(folder)
    (folder / "ca.pem").write_bytes(authority.certificate_pem)
    return f"{protocol}:ssl:0:interface=127.0.0.1:privateKey={key}:certKey={certificate}"
