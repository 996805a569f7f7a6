"""What does ``fmqp://host:port`` mean, and which endpoint does it lead to? The same with ``micromsg2``, ``ws`` and
others.

==========================================  =====================================================================
``fmqp://HOST[:PORT]``                      TCP, by default port 7700; of ``micromsg2``, 8334
``fmqps://HOST[:PORT][?ca=&cert=&key=]``    TLS, by default port 7701; of ``micromsg2s``, 8335. The server's
                                            certificate is verified, against the system's authorities or those in the
                                            file ``ca``; ``cert`` and ``key`` are our own. ``insecure=1`` verifies
                                            nothing.
``fmqp+unix:///PATH``                       a UNIX socket
``ws://HOST[:PORT][/PATH]``                 UMQ over WebSocket, by default port 80 and the path ``/umq``
``wss://HOST[:PORT][/PATH][?...]``          the same over TLS, by default port 443; options as of ``fmqps``
``ws+unix:///PATH``                         the same over a UNIX socket, at the path ``/umq``
``umq+units://HOST[:PORT]``                 UMQ behind lengths (docs/extend/unit-carrier.md), by default port 7712
``mtl://[USER@]HOST[:PORT][/HOST][?...]``   MTL over ZeroMQ, by default port 5975, at a virtual host. ``profile`` is the
                                            one to speak in, ``confirm=none`` has nothing confirmed; the user's
                                            password is the first line of the file ``password-file``, and ``login``
                                            is the mechanism of SASL. A password is never part of a URL. With CURVE,
                                            ``server-key`` and ``key`` are files as of ``fmqbus keys``.
==========================================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import attrs
from twisted.internet.endpoints import HostnameEndpoint, UNIXClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint

from fmqbus.client.tls import HandshakeEndpoint
from fmqbus.errors import LocalError

DEFAULT_URL = "fmqp://127.0.0.1:7700"
DEFAULT_MICROMSG2_URL = "micromsg2://127.0.0.1:8334"
DEFAULT_UMQ_URL = "ws://127.0.0.1:7702/umq"

#: Where UMQ is beside other pages, unless a URL says something else.
UMQ_PATH = "/umq"


@attrs.frozen
class _Scheme:
    """What a scheme stands for."""

    protocol: str
    #: By default; None for a UNIX socket.
    port: int | None
    is_tls: bool = False
    is_websocket: bool = False
    #: No endpoint of Twisted's leads there. A user may be named, and these options of the protocol's own.
    is_zeromq: bool = False
    options: tuple[str, ...] = ()


_MTL_OPTIONS = ("profile", "confirm", "login", "password-file", "server-key", "key")
_TLS_OPTIONS = ("ca", "cert", "key", "insecure")

_SCHEMES = {
    "fmqp": _Scheme("fmqp", 7700),
    "fmqps": _Scheme("fmqp", 7701, is_tls=True),
    "fmqp+unix": _Scheme("fmqp", None),
    "micromsg2": _Scheme("micromsg2", 8334),
    "micromsg2s": _Scheme("micromsg2", 8335, is_tls=True),
    "micromsg2+unix": _Scheme("micromsg2", None),
    "ws": _Scheme("umq", 80, is_websocket=True),
    "wss": _Scheme("umq", 443, is_tls=True, is_websocket=True),
    "ws+unix": _Scheme("umq", None, is_websocket=True),
    "umq+units": _Scheme("umq", 7712),
    "mtl": _Scheme("mtl", 5975, is_zeromq=True, options=_MTL_OPTIONS),
}


class InvalidURL(LocalError):
    """The URL cannot be used; the text says why."""


@attrs.frozen
class BusURL:
    """Where a bus is, and how to get there."""

    #: One of those above.
    scheme: str
    host: str = ""
    port: int = 0
    #: Of the UNIX socket.
    path: str = ""
    #: Of a WebSocket.
    resource: str = UMQ_PATH
    #: PEM files, or empty.
    ca: str = ""
    cert: str = ""
    key: str = ""
    insecure: bool = False
    #: Who is to be logged in; empty for nobody.
    user: str = ""
    #: Of MTL; empty where none is named.
    virtual_host: str = ""
    #: Those of the protocol's own.
    options: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def protocol(self) -> str:
        """What is spoken there: ``fmqp``, ``micromsg2``, ``umq`` or ``mtl``."""
        return _SCHEMES[self.scheme].protocol

    @property
    def is_websocket(self) -> bool:
        """What is spoken there is carried by WebSocket."""
        return _SCHEMES[self.scheme].is_websocket

    @property
    def names_login(self) -> bool:
        """It says who is to be logged in, and how."""
        return bool(self.user or self.options.keys() & {"login", "password-file"})

    def endpoint(self, reactor: Any) -> IStreamClientEndpoint:
        """Return the endpoint. Raises `InvalidURL` for certificate files that cannot be used. ZeroMQ has none."""
        if self.path:
            return UNIXClientEndpoint(reactor, self.path)
        tcp = HostnameEndpoint(reactor, self.host, self.port)
        if not _SCHEMES[self.scheme].is_tls:
            return tcp
        return HandshakeEndpoint(wrapClientTLS(self._tls_options(), tcp), reactor)

    def _tls_options(self) -> Any:
        try:
            from OpenSSL import SSL, crypto
            from twisted.internet import ssl
        except ImportError:
            raise InvalidURL(f"{self.scheme}:// needs more: pip install 'fmqbus[tls]'") from None
        try:
            own = ssl.PrivateCertificate.loadPEM(_read(self.key or self.cert) + _read(self.cert)) if self.cert else None
            if self.insecure:
                return own.options() if own else ssl.CertificateOptions(verify=False)
            authorities = ssl.trustRootFromCertificates(_certificates(self.ca)) if self.ca else None
            return ssl.optionsForClientTLS(self.host, trustRoot=authorities, clientCertificate=own)
        except OSError as error:
            raise InvalidURL(f"cannot read {error.filename}: {error.strerror}") from None
        except (SSL.Error, crypto.Error, ValueError) as error:
            raise InvalidURL(f"no usable certificate or key in {self.ca or self.cert}: {error}") from None


def endpoint_of(target: str | IStreamClientEndpoint, protocol: str, reactor: Any) -> IStreamClientEndpoint:
    """Return the endpoint of a bus at a URL, or the one that is given. Raises `InvalidURL`, also for a URL of another
    protocol."""
    return url_of(target, protocol).endpoint(reactor) if isinstance(target, str) else target


def url_of(text: str, protocol: str) -> BusURL:
    """Return what the URL of a bus of this protocol says. Raises `InvalidURL`."""
    url = parse_url(text)
    if url.protocol != protocol:
        raise InvalidURL(f"{text!r}: this client speaks {protocol}")
    return url


def parse_url(text: str) -> BusURL:
    """Return what a URL says. Raises `InvalidURL`."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        # before an @ there may be a password, which is not repeated
        raise InvalidURL(f"{text.rpartition('@')[2]!r}: {error}") from None
    if parts.password is not None:
        # other users of the machine see command lines
        raise InvalidURL(f"{parts.scheme}: a password has no place in a URL; name a file that holds it")
    scheme = _SCHEMES.get(parts.scheme)
    if scheme is None:
        raise InvalidURL(f"{text!r}: begins with none of {', '.join(f'{each}://' for each in _SCHEMES)}")
    if (parts.username is not None and not scheme.is_zeromq) or parts.fragment:
        raise InvalidURL(f"{text!r}: there is no user here, and no part after #")
    if scheme.port is None:
        return _unix(text, parts)
    if not parts.hostname:
        raise InvalidURL(f"{text!r}: no host")
    if scheme.is_zeromq:
        return _zeromq(text, parts, scheme, port)
    if parts.path not in ("", "/") and not scheme.is_websocket:
        raise InvalidURL(f"{text!r}: a path has no meaning here; topics are given apart")
    options = _options(text, parts, _TLS_OPTIONS if scheme.is_tls else ())
    insecure = options.pop("insecure", "0")
    if insecure not in ("0", "1"):
        raise InvalidURL(f"{text!r}: insecure is 0 or 1")
    if "key" in options and "cert" not in options:
        raise InvalidURL(f"{text!r}: a key without cert")
    if insecure == "1" and "ca" in options:
        raise InvalidURL(f"{text!r}: ca says whom to trust and insecure not to ask; choose one")
    port = scheme.port if port is None else port
    resource = UMQ_PATH if parts.path in ("", "/") else parts.path
    return BusURL(parts.scheme, parts.hostname, port, resource=resource, insecure=insecure == "1", **options)


def _zeromq(text: str, parts: SplitResult, scheme: _Scheme, port: int | None) -> BusURL:
    return BusURL(
        parts.scheme,
        parts.hostname or "",
        (scheme.port or 0) if port is None else port,
        user=unquote(parts.username or ""),
        virtual_host=unquote(parts.path.removeprefix("/")),
        options=_options(text, parts, scheme.options),
    )


def _unix(text: str, parts: SplitResult) -> BusURL:
    _options(text, parts, ())
    if parts.netloc or len(parts.path) < 2:
        raise InvalidURL(f"{text!r}: a socket is named by its absolute path, as in {parts.scheme}:///run/fmqbus.sock")
    return BusURL(parts.scheme, path=unquote(parts.path))


def _options(text: str, parts: SplitResult, known: tuple[str, ...]) -> dict[str, Any]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options: dict[str, Any] = dict(pairs)
    if len(options) < len(pairs):
        raise InvalidURL(f"{text!r}: an option is given twice")
    for name in options:
        if name not in known:
            raise InvalidURL(f"{text!r}: unknown option {name}; {parts.scheme} knows {', '.join(known) or 'none'}")
    return options


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _certificates(path: str) -> list[Any]:
    from cryptography.x509 import load_pem_x509_certificates
    from OpenSSL.crypto import X509
    from twisted.internet.ssl import Certificate

    return [Certificate(X509.from_cryptography(each)) for each in load_pem_x509_certificates(_read(path))]
