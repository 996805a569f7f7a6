"""Does a TLS server prove who it is, know its clients, and take new certificates while it runs?"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from pathlib import Path

import attrs
import pytest
import pytest_twisted
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.internet.threads import deferToThread

from fmqbus.errors import ConfigError
from fmqbus.model import PeerFacts
from fmqbus.transports.preamble import PREAMBLE_SECONDS, WaitingRoom
from fmqbus.transports.tls import CertificateFiles, ServerIdentity
from tests.transports.certificates import Issued, issue
from tests.transports.live import Link, Links, Start, port_of


@pytest.fixture(scope="module")
def authority() -> Issued:
    """Whom both sides trust."""
    return issue("authority")


@pytest.fixture(scope="module")
def server(authority: Issued) -> Issued:
    """Who the server is."""
    return issue("server", authority, [x509.DNSName("bus.example")])


@pytest.fixture(scope="module")
def client(authority: Issued) -> Issued:
    """Who a client is."""
    names = [
        x509.DNSName("sensor.example"),
        x509.UniformResourceIdentifier("spiffe://example/sensor"),
        x509.RFC822Name("sensor@example"),
        x509.IPAddress(ipaddress.ip_address("192.0.2.7")),
        x509.RegisteredID(x509.ObjectIdentifier("1.2.3")),
    ]
    return issue("client", authority, names)


@attrs.frozen
class Client:
    """A client with Python's own TLS, which knows nothing of Twisted; it blocks, so it runs in a thread."""

    authority: Issued
    identity: Path | None = None
    header: bytes = b""
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
    #: Protocols that it would speak (ALPN, RFC 7301).
    offered: tuple[str, ...] = ()

    def connect(self, port: int) -> ssl.SSLSocket:
        """Shake hands."""
        context = ssl.create_default_context(cadata=self.authority.certificate_pem.decode())
        context.maximum_version = self.newest
        if self.offered:
            context.set_alpn_protocols(self.offered)
        if self.newest < ssl.TLSVersion.TLSv1_2:
            context.minimum_version = self.newest
            context.set_ciphers("ALL:@SECLEVEL=0")  # else our own side would not even offer it
        if self.identity is not None:
            context.load_cert_chain(self.identity / "certificate.pem", self.identity / "key.pem")
        plain = socket.create_connection(("127.0.0.1", port), timeout=10)
        try:
            plain.sendall(self.header)
            return context.wrap_socket(plain, server_hostname="bus.example")
        except BaseException:
            plain.close()
            raise

    def is_refused(self, port: int) -> bool:
        """Tell whether the server ends the connection instead of answering; in TLS 1.3 only the first read shows."""
        try:
            with self.connect(port) as connection:
                connection.sendall(b"x")
                return connection.recv(1) == b""
        except (ssl.SSLError, ConnectionError):
            return True


def words(folder: Path, more: str = "", before: str = "") -> str:
    """The listen string for a server with its files in a folder."""
    return f"fmqp:{before}ssl:0:privateKey={folder / 'key.pem'}:certKey={folder / 'certificate.pem'}{more}"


async def meet(links: Links, client: Client, port: int) -> tuple[ssl.SSLSocket, Link]:
    """Both ends of a new connection."""
    connection = await deferToThread(client.connect, port)
    return connection, await links.made.get()


@pytest_twisted.ensureDeferred
async def test_clients_trust_the_server_and_are_heard(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """Octets go both ways; a client without a certificate has no name."""
    server.write(tmp_path)
    listener, links = start(words(tmp_path))
    connection, link = await meet(links, Client(authority), await port_of(listener))
    with connection:
        assert link.facts == PeerFacts("tls", address="127.0.0.1", is_local=True)
        connection.sendall(b"hello")
        assert await link.received.get() == b"hello"
        assert await deferToThread(connection.recv, 5) == b"hello"
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_client_is_known_by_its_certificate(
    start: Start, tmp_path: Path, authority: Issued, server: Issued, client: Issued
) -> None:
    """By all names in it that have a form of ours, and by its fingerprint."""
    (tmp_path / "client").mkdir()
    client.write(tmp_path / "client")
    server.write(tmp_path)
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem)
    listener, links = start(words(tmp_path, f":clientCA={tmp_path / 'ca.pem'}"))
    connection, link = await meet(links, Client(authority, tmp_path / "client"), await port_of(listener))
    with connection:
        assert link.facts == PeerFacts(
            "tls",
            address="127.0.0.1",
            is_local=True,
            certificate_names=(
                "dns:sensor.example",
                "uri:spiffe://example/sensor",
                "email:sensor@example",
                "ip:192.0.2.7",
            ),
            certificate_fingerprint=client.fingerprint,
        )
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_certificate_nobody_asked_for_proves_nothing(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """Without an authority for clients, none of theirs has been verified."""
    (tmp_path / "client").mkdir()
    issue("admin").write(tmp_path / "client")
    server.write(tmp_path)
    listener, links = start(words(tmp_path))
    connection, link = await meet(links, Client(authority, tmp_path / "client"), await port_of(listener))
    with connection:
        assert (link.facts.certificate_names, link.facts.certificate_fingerprint) == ((), "")
    await link.lost.get()


@pytest.mark.parametrize("has_certificate", [False, True])
@pytest_twisted.ensureDeferred
async def test_a_client_of_another_authority_is_refused(
    start: Start, tmp_path: Path, authority: Issued, server: Issued, has_certificate: bool
) -> None:
    """As is one without any certificate; the protocol never hears of them."""
    (tmp_path / "client").mkdir()
    issue("stranger", issue("another authority")).write(tmp_path / "client")
    server.write(tmp_path)
    (tmp_path / "ca.pem").write_bytes(authority.certificate_pem)
    listener, links = start(words(tmp_path, f":clientCA={tmp_path / 'ca.pem'}"))
    stranger = Client(authority, tmp_path / "client" if has_certificate else None)
    assert await deferToThread(stranger.is_refused, await port_of(listener))
    assert links.made.pending == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
@pytest_twisted.ensureDeferred
async def test_old_versions_are_refused(start: Start, tmp_path: Path, authority: Issued, server: Issued) -> None:
    """TLS 1.2 is the oldest spoken."""
    server.write(tmp_path)
    listener, links = start(words(tmp_path))
    port = await port_of(listener)
    with pytest.raises(ssl.SSLError, match=r"(?i)alert protocol version"):
        await deferToThread(Client(authority, newest=ssl.TLSVersion.TLSv1_1).connect, port)
    connection, link = await meet(links, Client(authority, newest=ssl.TLSVersion.TLSv1_2), port)
    with connection:
        assert connection.version() == "TLSv1.2"
    await link.lost.get()


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest_twisted.ensureDeferred
async def test_protocols_that_a_client_offers_do_not_matter(
    start: Start, tmp_path: Path, authority: Issued, server: Issued, newest: ssl.TLSVersion
) -> None:
    """Browsers and curl always offer some; none is selected, and they go on as if there was no such choice."""
    server.write(tmp_path)
    listener, links = start(words(tmp_path))
    eager = Client(authority, newest=newest, offered=("h2", "http/1.1"))
    connection, link = await meet(links, eager, await port_of(listener))
    with connection:
        assert connection.selected_alpn_protocol() is None
        connection.sendall(b"hello")
        assert await link.received.get() == b"hello"
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_header_of_a_proxy_comes_before_the_handshake(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """As proxies send it; both facts are then known."""
    server.write(tmp_path)
    listener, links = start(words(tmp_path, ":trust=127.0.0.1", before="haproxy:"))
    proxied = Client(authority, header=b"PROXY TCP4 203.0.113.9 192.0.2.2 4711 7700\r\n")
    connection, link = await meet(links, proxied, await port_of(listener))
    with connection:
        assert link.facts == PeerFacts("tls", address="203.0.113.9")
        connection.sendall(b"hello")
        assert await link.received.get() == b"hello"
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_new_certificates_reach_new_connections_only(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """Nobody who is connected notices the change."""
    server.write(tmp_path)
    listener, links = start(words(tmp_path))
    port = await port_of(listener)
    old, old_link = await meet(links, Client(authority), port)
    renewed = issue("server", authority, [x509.DNSName("bus.example")])
    renewed.write(tmp_path)
    listener.reload()
    new, new_link = await meet(links, Client(authority), port)
    with old, new:
        assert _certificate_of(old) == server.certificate
        assert _certificate_of(new) == renewed.certificate
        old.sendall(b"still here")
        assert await old_link.received.get() == b"still here"
    await old_link.lost.get()
    await new_link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_bad_new_file_leaves_the_old_certificate_in_use(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """The operator is told, the clients are not."""
    _, certificate = server.write(tmp_path)
    listener, links = start(words(tmp_path))
    certificate.write_text("not a certificate")
    with pytest.raises(ConfigError, match=r"certificate\.pem: does not hold certificates"):
        listener.reload()
    connection, link = await meet(links, Client(authority), await port_of(listener))
    with connection:
        assert _certificate_of(connection) == server.certificate
    await link.lost.get()


def test_a_key_of_another_certificate_is_noticed(tmp_path: Path, authority: Issued, server: Issued) -> None:
    """And both files are named."""
    key, certificate = server.write(tmp_path)
    key.write_bytes(authority.key_pem)
    with pytest.raises(ConfigError, match=r"certificate\.pem: the certificate is not for the key in .*key.pem"):
        ServerIdentity(CertificateFiles(key, certificate))


def test_a_key_with_a_passphrase_is_refused(tmp_path: Path, server: Issued) -> None:
    """Nobody is there to type it."""
    key, certificate = server.write(tmp_path)
    key.write_bytes(
        server.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(ConfigError, match="must not need a passphrase"):
        ServerIdentity(CertificateFiles(key, certificate))


def test_a_weak_key_is_refused(tmp_path: Path, authority: Issued) -> None:
    """When the files are read, not at each handshake."""
    key, certificate = issue("server", authority, rsa_bits=1024).write(tmp_path)
    with pytest.raises(ConfigError, match=r"key\.pem: TLS cannot use them: .*too small"):
        ServerIdentity(CertificateFiles(key, certificate))


@pytest.mark.parametrize("part", ["private_key", "certificates", "chain", "client_authorities"])
@pytest.mark.parametrize(
    ("content", "complaint"), [(None, "cannot be read"), (b"", "does not hold"), (b"\xff", "does not hold")]
)
def test_every_bad_file_is_named(
    tmp_path: Path, server: Issued, part: str, content: bytes | None, complaint: str
) -> None:
    """Missing, empty or something else."""
    key, certificate = server.write(tmp_path)
    bad = tmp_path / "bad.pem"
    if content is not None:
        bad.write_bytes(content)
    with pytest.raises(ConfigError, match=f"bad.pem: {complaint}"):
        ServerIdentity(attrs.evolve(CertificateFiles(key, certificate), **{part: bad}))


@pytest_twisted.ensureDeferred
async def test_one_file_may_hold_key_and_certificates(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """As Twisted's endpoint allows."""
    both = tmp_path / "both.pem"
    both.write_bytes(server.key_pem + server.certificate_pem + authority.certificate_pem)
    listener, links = start(f"fmqp:ssl:0:privateKey={both}")
    connection, link = await meet(links, Client(authority), await port_of(listener))
    connection.close()
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_who_never_shakes_hands_does_not_count_as_connected(
    start: Start, tmp_path: Path, authority: Issued, server: Issued
) -> None:
    """It waits where its time and number are bounded; others are served."""
    server.write(tmp_path)
    listener, links = start(words(tmp_path), connections=1)
    port = await port_of(listener)
    with socket.create_connection(("127.0.0.1", port)):
        connection, link = await meet(links, Client(authority), port)
        with connection:
            assert listener.connections == 1
        await link.lost.get()


def test_a_handshake_that_never_ends_is_cut_off(tmp_path: Path, server: Issued) -> None:
    """Like everything that comes before the protocol."""
    clock = Clock()
    identity = ServerIdentity(CertificateFiles(*server.write(tmp_path)))
    factory = identity.wrap(Links(), WaitingRoom(clock), clock)
    transport = StringTransport()
    factory.buildProtocol(None).makeConnection(transport)
    clock.advance(PREAMBLE_SECONDS - 1)
    assert not transport.disconnected
    clock.advance(1)
    assert transport.disconnected


def _certificate_of(connection: ssl.SSLSocket) -> x509.Certificate:
    der = connection.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)
