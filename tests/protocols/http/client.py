"""A client of the pages, in memory: what it says it says at once, and time is the test's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from twisted.internet.testing import StringTransport

from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import PeerFacts
from fmqbus.protocols.http.plug import HTTP
from fmqbus.router.service import Router
from fmqbus.testing.bus import make_router
from fmqbus.testing.links import MemoryListener

NEAR = PeerFacts("tcp", "127.0.0.1", is_local=True)
FAR = PeerFacts("tcp", "192.0.2.1")


@attrs.frozen
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: str


class Transport(StringTransport):
    """Notes whether it is aborted, and takes nothing after it has been closed."""

    is_aborted = False

    def abortConnection(self) -> None:
        self.is_aborted = True
        super().abortConnection()


class Door(MemoryListener):
    """A listener whose peers are where the test says."""

    facts = NEAR

    def peer_facts(self, transport: Any) -> PeerFacts:
        return self.facts


class Server:
    """A bus and its pages."""

    def __init__(self, router: Router | None = None, limits: Limits = DEFAULT_LIMITS, **options: Any) -> None:
        """`options` are those of the router."""
        self.listener = Door(limits=limits)
        self.clock = self.listener.clock
        self.router = router or make_router(self.clock, limits=limits, **options)
        self.factory = HTTP.make_factory(self.router, self.listener, {})

    def connect(self, facts: PeerFacts = NEAR) -> Client:
        """A new connection from there."""
        self.listener.facts = facts
        return Client(self)

    def get(self, path: str, *headers: str, method: str = "GET", facts: PeerFacts = NEAR) -> Answer:
        """What one request is answered."""
        client = self.connect(facts)
        client.ask(path, *headers, method=method)
        return client.answer()


class Client:
    """One connection."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transport = Transport()
        self.connection = server.factory.buildProtocol(None)
        self.connection.makeConnection(self.transport)

    def ask(self, path: str, *headers: str, method: str = "GET") -> None:
        """One request, and time for the answer."""
        self.say("\r\n".join([f"{method} {path} HTTP/1.1", "Host: bus", *headers, "", ""]).encode())

    def say(self, octets: bytes) -> None:
        """These octets come in, if the connection still is."""
        if not self.transport.is_aborted:
            self.connection.dataReceived(octets)
        self.server.clock.pump([0.0] * 20)

    @property
    def said(self) -> bytes:
        """All that came back."""
        octets: bytes = self.transport.value()
        return octets

    def answer(self) -> Answer:
        """The one answer; the connection is closed after it."""
        assert self.transport.disconnecting
        head, _, body = self.said.decode().partition("\r\n\r\n")
        status, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        return Answer(int(status.split()[1]), headers, body)

    def lose(self) -> None:
        """The link has gone."""
        self.connection.connectionLost()
