"""Which kinds of endpoint can a protocol listen at, and what does each take?

The built-in `ITransport` plugs, each a function from the words of a listen string to a `Carrier`. Defaults are the safe
ones: loopback, and UNIX sockets for their owner. Twisted's own endpoints do the listening.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import (
    TCP4ServerEndpoint,
    TCP6ServerEndpoint,
    UNIXServerEndpoint,
    serverFromString,
)
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import ICarrier, IFraming, IPartsFactory, ITransport, IUnitFactory
from fmqbus.model import PeerFacts
from fmqbus.transports.facts import stream_facts
from fmqbus.transports.haproxy import Introductions, ProxyFactory, TrustedProxies
from fmqbus.transports.length_prefixed import LengthPrefixed
from fmqbus.transports.listen_string import ListenString, endpoint_string
from fmqbus.transports.preamble import WaitingRoom

if TYPE_CHECKING:
    from fmqbus.transports.tls import ServerIdentity

#: Long enough for a storm of reconnecting clients; the kernel cuts it to its own bound (net.core.somaxconn).
BACKLOG = "1024"


@implementer(ICarrier)
@attrs.define
class Carrier:
    """One place to listen at: a Twisted endpoint, and what comes before the protocol on each of its connections.

    A PROXY header comes first and in the clear, then the TLS handshake.
    """

    _reactor: Any
    _endpoint: Any
    _identity: ServerIdentity | None = None
    _trusted: TrustedProxies | None = None
    _framing: IFraming | None = None
    _introductions: Introductions = attrs.field(factory=Introductions, init=False)

    def fitted(self, factory: Any) -> Any:
        if IPartsFactory.providedBy(factory):
            raise ConfigError("the protocol is carried by zmq only")
        if self._framing is None:
            return factory
        if not IUnitFactory.providedBy(factory):
            raise ConfigError("the protocol has no units that could be carried so")
        return factory.framed(self._framing)

    def listen(self, factory: Any) -> Deferred[Any]:
        room = WaitingRoom(self._reactor)
        if self._identity is not None:
            factory = self._identity.wrap(factory, room, self._reactor)
        if self._trusted is not None:
            factory = ProxyFactory(factory, room, self._trusted, self._introductions)
        listening: Deferred[Any] = self._endpoint.listen(factory)
        return listening

    def peer_facts(self, transport: Any) -> PeerFacts:
        facts = stream_facts(transport) if self._trusted is None else self._introductions.facts(transport)
        return facts if self._identity is None else self._identity.facts(transport, facts)

    def reload(self) -> None:
        if self._identity is not None:
            self._identity.reload()


@implementer(ITransport)
@attrs.frozen
class EndpointTransport:
    """A plug whose arguments and options are the parameters of one function, all of them text."""

    prefix: str
    summary: str
    _make: Callable[Concatenate[Any, ...], Carrier]

    def endpoint(self, reactor: Any, arguments: Sequence[str], options: Mapping[str, str]) -> Carrier:
        try:
            call = inspect.signature(self._make).bind(reactor, *arguments, **options)
        except TypeError as error:
            raise ConfigError(f"{self.prefix}: {error}; it takes {self.summary}") from None
        return self._make(*call.args, **call.kwargs)


def _transport(prefix: str, summary: str) -> Callable[[Callable[Concatenate[Any, ...], Carrier]], EndpointTransport]:
    return lambda make: EndpointTransport(prefix, summary, make)


@_transport("tcp", "PORT, interface=127.0.0.1, backlog=1024")
def tcp(reactor: Any, /, port: str, interface: str = "127.0.0.1", backlog: str = BACKLOG) -> Carrier:
    return Carrier(reactor, TCP4ServerEndpoint(reactor, _port(port), _number("backlog", backlog), interface))


@_transport("tcp6", "PORT, interface=::1, backlog=1024")
def tcp6(reactor: Any, /, port: str, interface: str = "::1", backlog: str = BACKLOG) -> Carrier:
    return Carrier(reactor, TCP6ServerEndpoint(reactor, _port(port), _number("backlog", backlog), interface))


@_transport(
    "ssl",
    "PORT, privateKey=FILE, certKey=FILE (if not in the same), extraCertChain=FILE, clientCA=FILE (clients must then "
    "have a certificate), interface=127.0.0.1, backlog=1024",
)
def ssl(
    reactor: Any,
    /,
    port: str,
    privateKey: str,
    certKey: str | None = None,
    extraCertChain: str | None = None,
    clientCA: str | None = None,
    interface: str = "127.0.0.1",
    backlog: str = BACKLOG,
) -> Carrier:
    try:
        from fmqbus.transports.tls import CertificateFiles, ServerIdentity
    except ImportError as error:
        raise ConfigError(f"ssl: TLS needs the extra fmqbus[tls]: {error}") from error
    files = CertificateFiles(
        private_key=Path(privateKey),
        certificates=Path(certKey or privateKey),
        chain=Path(extraCertChain) if extraCertChain else None,
        client_authorities=Path(clientCA) if clientCA else None,
    )
    endpoint = TCP4ServerEndpoint(reactor, _port(port), _number("backlog", backlog), interface)
    return Carrier(reactor, endpoint, ServerIdentity(files))


@_transport("unix", "PATH, mode=600, lockfile=1, backlog=1024")
def unix(reactor: Any, /, path: str, mode: str = "600", lockfile: str = "1", backlog: str = BACKLOG) -> Carrier:
    endpoint = UNIXServerEndpoint(
        reactor,
        path,
        backlog=_number("backlog", backlog),
        mode=_number("mode", mode, top=0o777, radix=8),
        wantPID=bool(_number("lockfile", lockfile, top=1)),
    )
    return Carrier(reactor, endpoint)


@_transport("systemd", "domain=INET, INET6 or UNIX, and name=NAME or index=NUMBER of the socket")
def systemd(reactor: Any, /, *arguments: str, **options: str) -> Carrier:
    try:
        return _twisted_endpoint(reactor, "systemd", arguments, options)
    except ConfigError as error:
        if isinstance(error.__cause__, LookupError):
            raise ConfigError("systemd: it has passed no such socket to this process") from error
        raise


@_transport("haproxy", "KIND (tcp, tcp6, ssl, unix or systemd), trust=ADDRESS,NETWORK,..., and what that kind takes")
def haproxy(reactor: Any, /, kind: str, *arguments: str, trust: str, **options: str) -> Carrier:
    below = _below("haproxy", kind, (tcp, tcp6, ssl, unix, systemd))
    return attrs.evolve(below.endpoint(reactor, arguments, options), trusted=TrustedProxies.parse(trust))


@_transport(
    "units",
    "KIND (haproxy, tcp, tcp6, ssl, unix or systemd), and what that kind takes; each unit has its length before it",
)
def units(reactor: Any, /, kind: str, *arguments: str, **options: str) -> Carrier:
    below = _below("units", kind, (haproxy, tcp, tcp6, ssl, unix, systemd))
    return attrs.evolve(below.endpoint(reactor, arguments, options), framing=LengthPrefixed())


def _below(prefix: str, kind: str, kinds: Sequence[EndpointTransport]) -> EndpointTransport:
    for transport in kinds:
        if transport.prefix == kind:
            return transport
    raise ConfigError(f"{prefix}: cannot stand before {kind!r}, only before {', '.join(one.prefix for one in kinds)}")


#: Twisted's own endpoints that would listen at all interfaces if none is named.
_LOOPBACK_OPTIONS = {"tls": {"interface": "::1"}}


def carrier_for(reactor: Any, listen: ListenString, transports: Iterable[ITransport]) -> ICarrier:
    """Return the carrier that a listen string asks for, of these transports or else of Twisted's endpoint plugins.

    Raises `ConfigError` with the listen string in it.
    """
    try:
        for transport in transports:
            if transport.prefix == listen.prefix:
                return transport.endpoint(reactor, listen.arguments, listen.options)
        options = {**_LOOPBACK_OPTIONS.get(listen.prefix, {}), **listen.options}
        return _twisted_endpoint(reactor, listen.prefix, listen.arguments, options)
    except ConfigError as error:
        raise ConfigError(f"listen string '{listen}': {error}") from error


def _twisted_endpoint(reactor: Any, prefix: str, arguments: Sequence[str], options: Mapping[str, str]) -> Carrier:
    try:
        return Carrier(reactor, serverFromString(reactor, endpoint_string(prefix, arguments, options)))
    except Exception as error:  # a vendor's parser may raise anything for wrong arguments
        raise ConfigError(f"{prefix}: {error!r}") from error


def _port(text: str) -> int:
    return _number("the port", text, top=0xFFFF)


def _number(name: str, text: str, top: int = 0x7FFFFFFF, radix: int = 10) -> int:
    try:
        number = int(text, radix)
    except ValueError:
        number = -1
    if not 0 <= number <= top:
        raise ConfigError(f"{name} cannot be {text!r}")
    return number
