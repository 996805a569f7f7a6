"""How does a server prove who it is over TLS, and know its clients by their certificates?

Certificates can be read again while connections are open. Imported only where TLS is used, because it needs the
``tls`` extra.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from OpenSSL import SSL, crypto
from twisted.internet.interfaces import IHandshakeListener, IOpenSSLServerConnectionCreator
from twisted.internet.ssl import Certificate, CertificateOptions, TLSVersion, trustRootFromCertificates
from twisted.protocols.tls import TLSMemoryBIOFactory
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.model import PeerFacts
from fmqbus.transports.preamble import Preamble, PreambleFactory, WaitingRoom

_Part = TypeVar("_Part")

_NAME_KINDS: dict[type[x509.GeneralName], str] = {
    x509.DNSName: "dns",
    x509.UniformResourceIdentifier: "uri",
    x509.RFC822Name: "email",
    x509.IPAddress: "ip",
}


@attrs.frozen
class CertificateFiles:
    """The PEM files of a TLS server; no key may need a passphrase, as nobody is there to type it."""

    private_key: Path
    #: The server's own certificate first; those that follow it complete its chain.
    certificates: Path
    #: More certificates to complete the chain.
    chain: Path | None = None
    #: Certificates of the authorities that a client's certificate must come from; with it, clients must have one.
    client_authorities: Path | None = None


@implementer(IOpenSSLServerConnectionCreator)
class ServerIdentity:
    """Makes the TLS side of new connections from the files as last read. TLS 1.2 at least, and Twisted's ciphers.

    Raises `ConfigError` that names the file which is unreadable or does not fit.
    """

    def __init__(self, files: CertificateFiles) -> None:
        self._files = files
        self._context = _context(files)

    def reload(self) -> None:
        """Read the files again. Raises `ConfigError`; then nothing has changed."""
        self._context = _context(self._files)

    def serverConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        """As Twisted asks; open connections keep the context they began with."""
        return SSL.Connection(self._context, None)

    def wrap(self, factory: Any, room: WaitingRoom, clock: Any) -> Any:
        """Return a factory for the connections below TLS; `factory` gets those above, after their handshakes."""
        return TLSMemoryBIOFactory(self, False, HandshakeFactory(factory, room), clock=clock)

    def facts(self, transport: Any, facts: PeerFacts) -> PeerFacts:
        """What the handshake adds to what the socket knows. A certificate counts only if an authority was asked for:
        without one it has been verified by nobody."""
        facts = attrs.evolve(facts, carrier="tls")
        if self._files.client_authorities is None:
            return facts
        certificate = transport.getPeerCertificate().to_cryptography()
        return attrs.evolve(
            facts,
            certificate_names=_alternative_names(certificate),
            certificate_fingerprint=certificate.fingerprint(SHA256()).hex(),
        )


class HandshakeFactory(PreambleFactory):
    """Begins the wrapped factory's protocol after the handshake, when the peer's certificate is known."""

    def preamble(self, successor: Any, address: Any) -> Preamble:
        return _AwaitHandshake(self._room, successor)


@implementer(IHandshakeListener)
class _AwaitHandshake(Preamble):
    def handshakeCompleted(self) -> None:
        self.protocol_begins()


def _context(files: CertificateFiles) -> SSL.Context:
    key = _read(files.private_key, "a private key", lambda pem: load_pem_private_key(pem, password=None))
    certificate, *chain = _read(files.certificates, "certificates", x509.load_pem_x509_certificates)
    if _public_key(certificate) != _public_key(key):
        raise ConfigError(f"{files.certificates}: the certificate is not for the key in {files.private_key}")
    if files.chain is not None:
        chain += _read(files.chain, "certificates", x509.load_pem_x509_certificates)
    trust = None
    if files.client_authorities is not None:
        authorities = _read(files.client_authorities, "certificates", x509.load_pem_x509_certificates)
        trust = trustRootFromCertificates([Certificate(crypto.X509.from_cryptography(one)) for one in authorities])
    # Twisted's types still name the classes that pyOpenSSL has deprecated; it hands on what it gets.
    identity: dict[str, Any] = {"privateKey": key, "certificate": certificate, "extraCertChain": chain}
    try:
        options = CertificateOptions(**identity, trustRoot=trust, raiseMinimumTo=TLSVersion.TLSv1_2)
        context = options.getContext()
    except (SSL.Error, TypeError) as error:  # a kind or size of key that OpenSSL refuses
        raise ConfigError(f"{files.certificates}, {files.private_key}: TLS cannot use them: {error}") from error
    context.set_alpn_select_callback(_select_no_protocol)
    return context


def _select_no_protocol(connection: SSL.Connection, offered: list[bytes]) -> Any:
    """What is spoken is the listener's to say, so that clients may offer what they like (ALPN, RFC 7301). Twisted's own
    choice ends the handshake where nothing fits, and needs connections that know their transport."""
    return SSL.NO_OVERLAPPING_PROTOCOLS


def _read(path: Path, what: str, load: Callable[[bytes], _Part]) -> _Part:
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except TypeError:
        raise ConfigError(f"{path}: the private key must not need a passphrase") from None
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ConfigError(f"{path}: does not hold {what} in PEM form: {error}") from None


def _public_key(owner: Any) -> bytes:
    data: bytes = owner.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return data


def _alternative_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):  # none, or unreadable: such a client has no names
        return ()
    return tuple(f"{_NAME_KINDS[type(name)]}:{name.value}" for name in names if type(name) in _NAME_KINDS)
