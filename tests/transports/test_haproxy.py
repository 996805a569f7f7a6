"""Is a proxy believed only if it is listed, and what is then known of the peer behind it?"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import Clock, deferLater
from twisted.internet.testing import StringTransport

from fmqbus.model import PeerFacts
from fmqbus.transports.haproxy import Introductions, ProxyFactory, TrustedProxies
from fmqbus.transports.preamble import PREAMBLE_SECONDS, WaitingRoom
from tests.transports.live import Start, port_of

LOOPBACK = IPv4Address("TCP", "127.0.0.1", 40000)
INTERNET_PROXY = IPv4Address("TCP", "192.0.2.1", 40000)
HEADER = b"PROXY TCP4 203.0.113.9 192.0.2.2 4711 7700\r\n"
LOCAL_HEADER = b"PROXY TCP4 127.0.0.1 127.0.0.1 4711 7700\r\n"


class Heard(Protocol):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.octets = b""

    def dataReceived(self, data: bytes) -> None:
        self.octets += data


class Behind:
    """A connection of a proxy in memory, with the protocol that it leads to."""

    def __init__(self, peer: Any, trust: str = "127.0.0.1,192.0.2.0/24") -> None:
        self.clock = Clock()
        self.introductions = Introductions()
        self.protocol = Heard()
        wrapped = Factory()
        wrapped.buildProtocol = lambda addr: self.protocol  # type: ignore[method-assign]
        factory = ProxyFactory(wrapped, WaitingRoom(self.clock), TrustedProxies.parse(trust), self.introductions)
        self.transport = StringTransport(peerAddress=peer)
        self.transport.protocol = factory.buildProtocol(peer)
        self.is_believed = self.transport.protocol is not None
        if self.is_believed:
            self.transport.protocol.makeConnection(self.transport)

    def send(self, data: bytes) -> None:
        """The proxy sends; whoever has the transport now hears it."""
        self.transport.protocol.dataReceived(data)

    @property
    def facts(self) -> PeerFacts:
        """What is known of the peer."""
        return self.introductions.facts(self.transport)


@pytest.mark.parametrize(
    ("peer", "is_believed"),
    [
        (LOOPBACK, True),
        (INTERNET_PROXY, True),
        (IPv6Address("TCP", "::ffff:192.0.2.1", 1), True),
        (UNIXAddress(None), True),
        (IPv4Address("TCP", "127.0.0.2", 1), False),
        (IPv4Address("TCP", "198.51.100.1", 1), False),
        (IPv6Address("TCP", "::1", 1), False),
        (object(), False),
    ],
)
def test_only_listed_proxies_are_believed(peer: Any, is_believed: bool) -> None:
    """Anybody else's connection is closed before an octet is read."""
    assert Behind(peer).is_believed is is_believed


def test_the_protocol_begins_after_the_header_with_what_follows_it() -> None:
    """Cut at any octet, it hears its own octets and nothing of the header's."""
    whole = HEADER + b"hello"
    for cut in range(len(whole)):
        behind = Behind(INTERNET_PROXY)
        behind.send(whole[:cut])
        assert behind.protocol.connected == (cut >= len(HEADER))
        behind.send(whole[cut:])
        assert behind.protocol.octets == b"hello"
        assert behind.protocol.transport is behind.transport


def test_the_peer_is_whom_the_proxy_speaks_for() -> None:
    """Not the proxy, and not local because the proxy is."""
    behind = Behind(LOOPBACK)
    behind.send(HEADER)
    assert behind.facts == PeerFacts("tcp", address="203.0.113.9")
    assert behind.facts.port == 4711


@pytest.mark.parametrize(("proxy", "is_local"), [(LOOPBACK, True), (UNIXAddress(None), True), (INTERNET_PROXY, False)])
def test_loopback_behind_a_proxy_is_the_proxys_own(proxy: Any, is_local: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer is local if it is local to a local proxy."""
    monkeypatch.delattr(socket, "SO_PEERCRED")  # a transport in memory has none
    behind = Behind(proxy)
    behind.send(LOCAL_HEADER)
    assert behind.facts == PeerFacts("tcp", address="127.0.0.1", is_local=is_local)


def test_a_proxy_that_does_not_tell_for_whom_gives_no_rights() -> None:
    """It has its own address, and is not local."""
    behind = Behind(LOOPBACK)
    behind.send(b"PROXY UNKNOWN\r\n")
    assert behind.facts == PeerFacts("tcp", address="127.0.0.1")


def test_a_unix_proxys_credentials_are_not_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules for a user must not open for all whom the proxy serves."""
    monkeypatch.delattr(socket, "SO_PEERCRED")
    behind = Behind(UNIXAddress(None))
    behind.send(HEADER)
    assert (behind.facts.carrier, behind.facts.uid, behind.facts.is_local) == ("tcp", None, False)


def test_what_is_no_header_closes_the_connection() -> None:
    """The protocol hears nothing of it."""
    behind = Behind(LOOPBACK)
    behind.send(b"SUBSCRIBE")
    assert behind.transport.disconnected
    assert not behind.protocol.connected


def test_a_header_that_never_comes_is_not_waited_for() -> None:
    """Nor one that comes in drops."""
    behind = Behind(LOOPBACK)
    behind.send(HEADER[:10])
    behind.clock.advance(PREAMBLE_SECONDS - 1)
    behind.send(HEADER[10:20])
    assert not behind.transport.disconnected
    behind.clock.advance(1)
    assert behind.transport.disconnected


def test_a_connection_that_goes_early_leaves_nothing() -> None:
    """No timer, and no end told to a protocol that never began."""
    behind = Behind(LOOPBACK)
    behind.transport.protocol.connectionLost(None)
    assert behind.clock.getDelayedCalls() == []
    assert not behind.protocol.connected


@pytest_twisted.ensureDeferred
async def test_a_proxied_client_is_served_over_a_real_socket(start: Start) -> None:
    """Its header comes octet by octet, its first words with the last of them."""
    listener, links = start("fmqp:haproxy:tcp:0:trust=127.0.0.1")
    with socket.create_connection(("127.0.0.1", await port_of(listener))) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(HEADER) - 1):
            client.sendall(HEADER[at : at + 1])
            await deferLater(reactor, 0)  # type: ignore[arg-type]  # let it be read
        client.sendall(HEADER[-1:] + b"hello")
        link = await links.made.get()
        assert link.facts == PeerFacts("tcp", address="203.0.113.9")
        assert await link.received.get() == b"hello"
        client.sendall(b"again")
        assert await link.received.get() == b"again"
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_proxy_may_connect_by_a_unix_socket(start: Start, tmp_path: Path) -> None:
    """The socket's mode says who may."""
    path = tmp_path / "bus"
    listener, links = start(f"fmqp:haproxy:unix:{path}:trust=192.0.2.1")
    await listener.when_listening()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(HEADER)
        link = await links.made.get()
        assert link.facts == PeerFacts("tcp", address="203.0.113.9")
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_stranger_is_closed_over_a_real_socket(start: Start) -> None:
    """Whatever header it sends."""
    listener, _ = start("fmqp:haproxy:tcp:0:trust=192.0.2.1")
    with socket.create_connection(("127.0.0.1", await port_of(listener))) as client:
        client.setblocking(False)
        while True:
            await deferLater(reactor, 0)  # type: ignore[arg-type]
            try:
                assert client.recv(1) == b""
                break
            except BlockingIOError:
                continue


@pytest_twisted.ensureDeferred
async def test_a_closed_port_drops_those_without_a_header(start: Start) -> None:
    """They would be waited for by nobody."""
    listener, links = start("fmqp:haproxy:tcp:0:trust=127.0.0.1")
    place = ("127.0.0.1", await port_of(listener))
    with socket.create_connection(place) as silent, socket.create_connection(place) as client:
        client.sendall(HEADER)
        link = await links.made.get()  # accepted after the silent one
        await listener.stopService()
        silent.settimeout(5)
        await deferLater(reactor, 0)  # type: ignore[arg-type]  # let the abort happen
        with pytest.raises(ConnectionResetError):
            silent.recv(1)
    await link.lost.get()
