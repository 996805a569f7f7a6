"""What does a transport tell about its other end?"""

from __future__ import annotations

import os
import socket
from typing import Any

import attrs
import pytest
from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.internet.testing import StringTransport

from fmqbus.model import PeerFacts
from fmqbus.transports.facts import host_of, internet_facts, stream_facts


@pytest.mark.parametrize(
    ("host", "address", "is_local"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.8.9.10", "127.8.9.10", True),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", "127.0.0.1", True),
        ("::ffff:192.0.2.1", "192.0.2.1", False),
        ("192.0.2.1", "192.0.2.1", False),
        ("2001:DB8::1", "2001:db8::1", False),
        ("fe80::1%eth0", "fe80::1%eth0", False),
        ("0.0.0.0", "0.0.0.0", False),
        ("localhost", "localhost", False),
        ("", "", False),
    ],
)
def test_only_loopback_addresses_are_local(host: str, address: str, is_local: bool) -> None:
    """In every way they may be written; a name proves nothing."""
    facts = internet_facts(host, 1)
    assert (facts.address, facts.is_local) == (address, is_local)


@pytest.mark.parametrize("kind", [IPv4Address, IPv6Address])
def test_a_tcp_transport_has_an_address_and_a_port(kind: Any) -> None:
    """Of both families."""
    transport = StringTransport(peerAddress=kind("TCP", "192.0.2.1", 4711))
    facts = stream_facts(transport)
    assert facts == PeerFacts("tcp", address="192.0.2.1")
    assert facts.port == 4711


def test_an_unknown_transport_is_far_away() -> None:
    """Nothing is granted to what cannot be told."""
    assert stream_facts(StringTransport(peerAddress=object())) == PeerFacts("tcp")


@attrs.define
class SocketTransport:
    """A UNIX transport, as far as facts are asked of it."""

    handle: socket.socket

    def getPeer(self) -> UNIXAddress:
        return UNIXAddress(None)

    def getHandle(self) -> socket.socket:
        return self.handle


def test_a_unix_socket_tells_who_is_at_the_other_end() -> None:
    """The kernel says so, not the peer."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        facts = stream_facts(SocketTransport(ours))
    assert facts == PeerFacts("unix", is_local=True, uid=os.getuid(), gid=os.getgid())
    assert facts.pid == os.getpid()


def test_a_unix_socket_without_credentials_is_still_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every system tells them; then nobody's are assumed."""
    monkeypatch.delattr(socket, "SO_PEERCRED")
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert stream_facts(SocketTransport(ours)) == PeerFacts("unix", is_local=True)


def test_ipv6_hosts_are_counted_by_network() -> None:
    """IPv4 hosts one by one."""
    hosts = [host_of(PeerFacts("tcp", address=address)) for address in ("2001:db8::1", "2001:db8::2", "2001:db8:1::1")]
    assert hosts[0] == hosts[1] != hosts[2]
    assert host_of(PeerFacts("tcp", address="192.0.2.1")) == "192.0.2.1"
