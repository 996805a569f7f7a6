"""What does a connected stream transport tell about its other end?

Only what the kernel says counts here: addresses and UNIX credentials. Certificates are `fmqbus.transports.tls`,
addresses told by a proxy `fmqbus.transports.haproxy`. Whether a peer may do something is not decided here.
"""

from __future__ import annotations

import socket
import struct
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from twisted.internet.address import UNIXAddress
from twisted.protocols.policies import ProtocolWrapper

from fmqbus.model import PeerFacts

#: struct ucred: pid, uid, gid.
_CREDENTIALS = struct.Struct("@iII")
#: A provider gives a single IPv6 customer at least this many leading bits to himself.
_IPV6_CUSTOMER_BITS = 64


def stream_facts(transport: Any) -> PeerFacts:
    """The facts of a TCP or UNIX transport, of whatever is wrapped around it. Anything else has no address."""
    bottom = socket_transport(transport)
    peer = bottom.getPeer()
    if isinstance(peer, UNIXAddress):
        return _unix_facts(bottom)
    return internet_facts(getattr(peer, "host", ""), getattr(peer, "port", None))


def socket_transport(transport: Any) -> Any:
    """The transport that has the socket, below all wrappers."""
    while isinstance(transport, ProtocolWrapper):
        transport = transport.transport
    return transport


def internet_facts(host: str, port: int | None) -> PeerFacts:
    """The facts of a peer at an internet address. Text that is no address is kept, and is not local."""
    address = _parsed(host)
    if address is None:
        return PeerFacts("tcp", address=host, port=port)
    return PeerFacts("tcp", address=str(address), is_local=address.is_loopback, port=port)


def host_of(facts: PeerFacts) -> str:
    """What to count connections by: the address, of an IPv6 one the network that its owner has to himself."""
    address = _parsed(facts.address)
    if isinstance(address, IPv6Address):
        return f"{int(address) >> (128 - _IPV6_CUSTOMER_BITS):x}/{_IPV6_CUSTOMER_BITS}"
    return facts.address


def _parsed(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    # A socket that serves both families shows IPv4 peers as ::ffff:a.b.c.d; rules are written for a.b.c.d.
    return getattr(address, "ipv4_mapped", None) or address


def _unix_facts(transport: Any) -> PeerFacts:
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:  # not Linux
        return PeerFacts("unix", is_local=True)
    pid, uid, gid = _CREDENTIALS.unpack(transport.getHandle().getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return PeerFacts("unix", is_local=True, uid=uid, gid=gid, pid=pid)
