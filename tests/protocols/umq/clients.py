"""Clients of a bus in memory that speak UMQ, message by message."""

from __future__ import annotations

import json
from typing import Any

from twisted.internet.task import Clock

import twisted.plugins.fmqbus_parts as parts
from fmqbus.interfaces import ILogins, IRouter, IUMQMethod
from fmqbus.model import PeerFacts
from fmqbus.protocols.umq.method_table import MethodTable
from fmqbus.protocols.umq.session import UMQSession
from fmqbus.router.service import Router
from fmqbus.testing.bus import make_router
from fmqbus.testing.links import MemoryUnitLink

#: The methods that come with fmqbus, as they are registered.
BUILT_IN = [part for name in parts.__all__ if IUMQMethod.providedBy(part := getattr(parts, name))]


def make_bus(clock: Clock | None = None, **options: Any) -> Router:
    """A bus that allows everything; options as of `make_router`."""
    return make_router(clock or Clock(), **options)


class Client:
    """One client. What it says is acted on at once, as if it had been all of one read."""

    def __init__(
        self,
        router: IRouter,
        facts: PeerFacts | None = None,
        methods: list[Any] | None = None,
        logins: ILogins | None = None,
    ) -> None:
        self.link = MemoryUnitLink(facts)
        self.session = UMQSession(router, self.link, MethodTable(BUILT_IN if methods is None else methods), logins)

    def say(self, *units: str | bytes) -> list[str | bytes]:
        """Say this; returns what was heard since last asked."""
        for unit in units:
            if isinstance(unit, str):
                self.session.text_arrived(unit.encode("utf-8", "surrogateescape"))
            else:
                self.session.binary_arrived(unit)
        self.session.turn_over()
        return self.heard()

    def heard(self) -> list[str | bytes]:
        """What has come since last asked."""
        units, self.link.units = self.link.units, []
        return units

    def ask(self, id: str, *arguments: Any, attachments: tuple[bytes, ...] = ()) -> list[str | bytes]:
        """Call a method; returns what was heard."""
        announced = f"A{len(attachments)}:" if attachments else ""
        return self.say(f"{announced}C{id}:{json.dumps(arguments)}", *attachments)


def greeted(router: IRouter, **options: Any) -> Client:
    """A client that has been welcomed."""
    client = Client(router, **options)
    assert client.say("H1:") == ["W1:"]
    return client
