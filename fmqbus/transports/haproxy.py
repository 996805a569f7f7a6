"""Who is the peer behind a proxy, and which proxies are believed?

Only listed ones: the header says whatever its sender likes, and addresses open doors. Nothing is known here of the
header's form.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any
from weakref import WeakKeyDictionary

import attrs
from twisted.internet.address import UNIXAddress
from twisted.logger import Logger

from fmqbus.errors import ConfigError, FramingLost
from fmqbus.model import PeerFacts
from fmqbus.transports.facts import internet_facts, socket_transport, stream_facts
from fmqbus.transports.preamble import Preamble, PreambleFactory, WaitingRoom
from fmqbus.transports.proxy_header import ProxyHeader, Source

_log = Logger()


@attrs.frozen
class TrustedProxies:
    """The networks that proxies may connect from. UNIX sockets are trusted: their mode says who may connect."""

    networks: Sequence[IPv4Network | IPv6Network]

    @classmethod
    def parse(cls, text: str) -> TrustedProxies:
        """Read addresses and networks with commas between them. Raises `ConfigError` for anything else, or nothing."""
        try:
            return cls(tuple(ip_network(word.strip()) for word in text.split(",")))
        except ValueError as error:
            raise ConfigError(f"haproxy: trust= takes addresses and networks with commas between: {error}") from None

    def include(self, address: Any) -> bool:
        """Tell whether to believe a peer at this Twisted address."""
        if isinstance(address, UNIXAddress):
            return True
        facts = internet_facts(getattr(address, "host", ""), None)
        try:
            host = ip_address(facts.address)
        except ValueError:
            return False
        return any(host in network for network in self.networks)


class Introductions:
    """For whom each connection's proxy spoke, for as long as the connection is there."""

    def __init__(self) -> None:
        self._sources: WeakKeyDictionary[Any, Source | None] = WeakKeyDictionary()

    def remember(self, transport: Any, source: Source | None) -> None:
        """The header has come."""
        self._sources[transport] = source

    def facts(self, transport: Any) -> PeerFacts:
        """The facts of the peer behind the proxy.

        Local is only who is local to a proxy that is local itself. A proxy that speaks for itself, or does not say
        for whom, tells nothing but its own address: nobody gains by it.
        """
        proxy = stream_facts(transport)
        source = self._sources[socket_transport(transport)]
        if source is None:
            return PeerFacts("tcp", address=proxy.address, port=proxy.port)
        facts = internet_facts(source.host, source.port)
        return attrs.evolve(facts, is_local=facts.is_local and proxy.is_local)


class ProxyFactory(PreambleFactory):
    """Expects a PROXY header of trusted proxies, before the wrapped factory's protocol; closes all others."""

    def __init__(self, wrapped: Any, room: WaitingRoom, trusted: TrustedProxies, introductions: Introductions) -> None:
        super().__init__(wrapped, room)
        self._trusted = trusted
        self._introductions = introductions

    def preamble(self, successor: Any, address: Any) -> Preamble | None:
        if not self._trusted.include(address):
            _log.info("Closed a connection of {address}, which is no trusted proxy", address=address)
            return None
        return _AwaitHeader(self._room, successor, self._introductions)


class _AwaitHeader(Preamble):
    def __init__(self, room: WaitingRoom, successor: Any, introductions: Introductions) -> None:
        super().__init__(room, successor)
        self._header = ProxyHeader()
        self._introductions = introductions

    def dataReceived(self, data: bytes) -> None:
        transport: Any = self.transport
        try:
            introduction = self._header.feed(data)
        except FramingLost as error:
            _log.info("Closed a connection of {address}: {error}", address=transport.getPeer(), error=error)
            transport.abortConnection()
            return
        if introduction is None:
            return
        self._introductions.remember(transport, introduction.source)
        self.protocol_begins()
        if introduction.rest:
            self._successor.dataReceived(introduction.rest)
