"""Does each kind of endpoint listen as its listen string says, with safe defaults?"""

from __future__ import annotations

import gc
import os
import socket
import stat
import subprocess
import sys
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.error import CannotListenError
from twisted.internet.task import deferLater
from twisted.internet.testing import MemoryReactor
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.errors import ConfigError
from fmqbus.interfaces import ICarrier, IFraming, ITransport, IUnitFactory
from fmqbus.model import PeerFacts
from fmqbus.transports.carriers import carrier_for
from fmqbus.transports.length_prefixed import LengthPrefixed
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.listener import ACCEPTED_IN_A_TURN
from tests.transports.live import TRANSPORTS, Links, Start, port_of


def carrier(text: str, on: Any = None) -> Any:
    """The carrier for a listen string."""
    return carrier_for(on or MemoryReactor(), parse_listen_string(text), TRANSPORTS)


@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda transport: transport.prefix)
def test_every_kind_of_endpoint_is_a_plug(transport: ITransport) -> None:
    """With all that a vendor's has."""
    assert verifyObject(ITransport, transport)
    assert transport.summary


def test_a_carrier_is_what_listeners_expect() -> None:
    """It provides every method of `ICarrier`."""
    assert verifyObject(ICarrier, carrier("fmqp:tcp:7700"))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("fmqp:tcp:7700", (7700, 1024, "127.0.0.1")),
        ("fmqp:tcp6:7700", (7700, 1024, "::1")),
        ("fmqp:tcp:port=7700", (7700, 1024, "127.0.0.1")),
        ("fmqp:tcp:7700:interface=192.0.2.1:backlog=5", (7700, 5, "192.0.2.1")),
        ("fmqp:tcp:7700:interface=", (7700, 1024, "")),
        ("fmqp:haproxy:tcp:7700:trust=127.0.0.1", (7700, 1024, "127.0.0.1")),
        ("umq:units:tcp:7712", (7712, 1024, "127.0.0.1")),
        ("umq:units:haproxy:tcp:7712:trust=127.0.0.1", (7712, 1024, "127.0.0.1")),
    ],
)
def test_tcp_listens_on_loopback_unless_told(text: str, where: tuple[int, int, str]) -> None:
    """All interfaces must be asked for."""
    memory = MemoryReactor()
    carrier(text, memory).listen(Links())
    [(port, _, backlog, interface)] = memory.tcpServers
    assert (port, backlog, interface) == where


def test_a_carrier_of_units_decides_how_they_travel() -> None:
    """On the others, a protocol of units frames them as it likes best."""

    @implementer(IUnitFactory)
    class Units:
        """Tells how it was framed."""

        def framed(self, framing: IFraming) -> IFraming:
            return framing

    factory = Units()
    assert carrier("umq:tcp:7702").fitted(factory) is factory
    assert carrier("umq:units:tcp:7712").fitted(factory) == LengthPrefixed()


def test_a_unix_socket_is_its_owners_unless_told() -> None:
    """With a lock file, so that a stale socket is told from one in use."""
    memory = MemoryReactor()
    carrier("fmqp:unix:/a", memory).listen(Links())
    carrier("fmqp:unix:/a:mode=660:lockfile=0:backlog=5", memory).listen(Links())
    assert [server[2:] for server in memory.unixServers] == [(1024, 0o600, True), (5, 0o660, False)]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("fmqp:tcp", "tcp: missing a required argument: 'port'; it takes PORT"),
        ("fmqp:tcp:http", "the port cannot be 'http'"),
        ("fmqp:tcp:65536", "the port cannot be '65536'"),
        ("fmqp:tcp:-1", "the port cannot be '-1'"),
        ("fmqp:tcp:1:2:3:4", "too many positional arguments"),
        ("fmqp:tcp:1:reactor=2", "unexpected keyword argument 'reactor'"),
        ("fmqp:tcp:1:backlog=many", "backlog cannot be 'many'"),
        ("fmqp:unix:/a:mode=888", "mode cannot be '888'"),
        ("fmqp:unix:/a:mode=7777", "mode cannot be '7777'"),
        ("fmqp:unix:/a:lockfile=yes", "lockfile cannot be 'yes'"),
        ("fmqp:ssl:1", "missing a required argument: 'privateKey'"),
        ("fmqp:ssl:1:privateKey=/nowhere/key.pem", "/nowhere/key.pem: cannot be read: No such file"),
        ("fmqp:ssl:1:privateKey=a:sslmethod=SSLv3_METHOD", "unexpected keyword argument 'sslmethod'"),
        ("fmqp:haproxy:tcp:1", "missing a required.* argument: 'trust'"),
        ("fmqp:haproxy:tcp:1:trust=", "trust= takes addresses and networks"),
        ("fmqp:haproxy:tcp:1:trust=10.0.0.1/8", "trust= takes addresses and networks"),
        ("fmqp:haproxy:haproxy:tcp:1:trust=127.0.0.1", "cannot stand before 'haproxy'"),
        ("umq:units:units:tcp:1", "cannot stand before 'units', only before haproxy, tcp,"),
        ("umq:units:", "cannot stand before ''"),
        ("umq:units:tcp:1:backlog=many", "backlog cannot be 'many'"),
        ("fmqp:systemd:domain=INET:index=0", "systemd: it has passed no such socket"),
        ("fmqp:systemd:domain=INET", "systemd: .*exactly one of descriptor index or name"),
        ("fmqp:systemd:domain=MOON:name=bus", "systemd: it has passed no such socket"),
        ("fmqp:nonsense:1", "nonsense: .*Unknown endpoint type"),
    ],
)
def test_wrong_words_are_refused_with_what_would_be_right(text: str, complaint: str) -> None:
    """Before anything listens, and with the listen string."""
    with pytest.raises(ConfigError, match=complaint) as caught:
        carrier(text)
    assert text in str(caught.value)


def test_a_vendors_endpoint_of_twisted_works_too() -> None:
    """Any that `serverFromString` knows, if no transport has its prefix."""
    memory = MemoryReactor()
    carrier_for(memory, parse_listen_string("fmqp:tcp:7700:interface=192.0.2.1"), ()).listen(Links())
    [(port, _, _, interface)] = memory.tcpServers
    assert (port, interface) == (7700, "192.0.2.1")


def test_twisteds_tls_endpoint_listens_on_loopback_unless_told(tmp_path: Path) -> None:
    """On its own it would take all interfaces."""
    memory = MemoryReactor()
    carrier(f"fmqp:tls:{tmp_path}:7700", memory).listen(Links())
    [(_, _, _, interface)] = memory.tcpServers
    assert interface == "::1"


@pytest_twisted.ensureDeferred
async def test_a_client_on_loopback_is_local(start: Start) -> None:
    """And its port is known."""
    listener, links = start("fmqp:tcp:0")
    with socket.create_connection(("127.0.0.1", await port_of(listener))) as client:
        link = await links.made.get()
        assert link.facts == PeerFacts("tcp", address="127.0.0.1", is_local=True)
        assert link.facts.port == client.getsockname()[1]
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_taken_port_is_told(start: Start) -> None:
    """Two listeners cannot share one."""
    first, _ = start("fmqp:tcp:0")
    second, _ = start(f"fmqp:tcp:{await port_of(first)}")
    with pytest.raises(CannotListenError, match="in use"):
        await second.when_listening()


@pytest_twisted.ensureDeferred
async def test_at_the_limit_clients_wait_in_the_kernel(start: Start) -> None:
    """The port leaves the poller, so nothing spins; the next is accepted when one goes."""
    listener, links = start("fmqp:tcp:0", connections=2)
    place = ("127.0.0.1", await port_of(listener))
    port: Any = listener.port
    with socket.create_connection(place) as first:
        await links.made.get()
        with socket.create_connection(place):
            second = await links.made.get()
            await deferLater(reactor, 0)  # type: ignore[arg-type]  # let the round of accepting end
            with socket.create_connection(place) as third:
                assert port not in reactor.getReaders()  # type: ignore[attr-defined]
                first.close()
                waited = await links.made.get()
                third.sendall(b"served at last")
                assert await waited.received.get() == b"served at last"
    await second.lost.get()
    await waited.lost.get()
    assert port in reactor.getReaders()  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", ["fmqp:tcp:0", "fmqp:haproxy:tcp:0:trust=127.0.0.1"])
@pytest_twisted.ensureDeferred
async def test_a_storm_of_connections_leaves_each_turn_short(start: Start, place: str) -> None:
    """However many wait in the kernel, only a few are accepted before others are served; also where a header or a
    handshake has to come before the protocol begins."""
    listener, links = start(place)
    address = ("127.0.0.1", await port_of(listener))
    accepted = [0]
    with ExitStack() as storm:
        for _ in range(12 * ACCEPTED_IN_A_TURN):
            storm.enter_context(socket.create_connection(address))
        while accepted[-1] < 12 * ACCEPTED_IN_A_TURN:
            await deferLater(reactor, 0)  # type: ignore[arg-type]  # a turn
            accepted.append(links.built)
    assert max(later - earlier for earlier, later in pairwise(accepted)) == ACCEPTED_IN_A_TURN


@pytest_twisted.ensureDeferred
async def test_nobody_is_turned_away_who_can_wait(start: Start) -> None:
    """A round of accepting ends with the last free place, also with the one that has just become free."""
    listener, links = start("fmqp:tcp:0", connections=2)
    place = ("127.0.0.1", await port_of(listener))
    with ExitStack() as crowd:
        clients = [crowd.enter_context(socket.create_connection(place)) for _ in range(6)]
        for client in clients[:4]:
            await links.made.get()
            client.close()
        last = [await links.made.get(), await links.made.get()]
        assert listener.turned_away == 0
    for link in last:
        await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_stopped_listener_keeps_its_connections(start: Start) -> None:
    """The address is free again, the clients are still served."""
    listener, links = start("fmqp:tcp:0")
    place = ("127.0.0.1", await port_of(listener))
    with socket.create_connection(place) as client:
        link = await links.made.get()
        await listener.stopService()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)
        client.sendall(b"still here")
        assert await link.received.get() == b"still here"
    await link.lost.get()


@pytest_twisted.ensureDeferred
async def test_a_unix_client_shows_its_credentials(start: Start, tmp_path: Path) -> None:
    """Mode, lock and socket are there while it listens, and gone after."""
    path = tmp_path / "bus"
    listener, links = start(f"fmqp:unix:{path}")
    await listener.when_listening()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        link = await links.made.get()
        assert link.facts == PeerFacts("unix", is_local=True, uid=os.getuid(), gid=os.getgid())
        assert link.facts.pid == os.getpid()
    await link.lost.get()
    await listener.stopService()
    assert list(tmp_path.iterdir()) == []


@pytest_twisted.ensureDeferred
async def test_a_unix_socket_in_use_is_not_taken_over(start: Start, tmp_path: Path) -> None:
    """The lock says that its owner lives."""
    first, _ = start(f"fmqp:unix:{tmp_path / 'bus'}")
    await first.when_listening()
    second, _ = start(f"fmqp:unix:{tmp_path / 'bus'}")
    with pytest.raises(CannotListenError):
        await second.when_listening()


@pytest_twisted.ensureDeferred
async def test_a_stale_unix_socket_is_replaced(start: Start, tmp_path: Path) -> None:
    """A broker that was killed leaves one behind, and its lock."""
    path = tmp_path / "bus"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    child = os.spawnlp(os.P_NOWAIT, "true", "true")
    os.waitpid(child, 0)
    path.with_name("bus.lock").symlink_to(str(child))
    listener, links = start(f"fmqp:unix:{path}")
    await listener.when_listening()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        link = await links.made.get()
    await link.lost.get()


# Twisted leaves the socket that could not be bound to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest_twisted.ensureDeferred
async def test_an_ordinary_file_is_never_removed(start: Start, tmp_path: Path) -> None:
    """A mistyped path does not cost data."""
    path = tmp_path / "data"
    path.write_text("precious")
    listener, _ = start(f"fmqp:unix:{path}")
    with pytest.raises(CannotListenError):
        await listener.when_listening()
    assert path.read_text() == "precious"
    await listener.stopService()
    gc.collect()


#: Last on the child's path: it needs the tests, and the very fmqbus that is tested.
TREE = Path(__file__).parents[2]

SYSTEMD_CHILD = """
from twisted.internet import reactor
from tests.transports.live import listen
listener, links = listen(reactor, "fmqp:systemd:domain=INET:name=bus")
links.made.get().addCallback(lambda link: (print(link.facts.address), reactor.stop()))
reactor.run()
"""


def test_a_socket_inherited_from_systemd_is_served() -> None:
    """A client that came before the broker started is not lost."""
    with socket.create_server(("127.0.0.1", 0)) as inherited, socket.create_connection(inherited.getsockname()):
        # systemd passes sockets from descriptor 3 on, and names the process they are for.
        child = subprocess.run(
            [
                "sh",
                "-c",
                'LISTEN_FDS=1 LISTEN_FDNAMES=bus LISTEN_PID=$$ exec "$0" -c "$1" 3<&0',
                sys.executable,
                SYSTEMD_CHILD,
            ],
            stdin=inherited,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(TREE)])},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    assert child.stdout == "127.0.0.1\n"


@pytest_twisted.ensureDeferred
async def test_ipv6_has_an_endpoint_of_its_own(start: Start) -> None:
    """On loopback as well."""
    listener, links = start("fmqp:tcp6:0")
    with socket.create_connection(("::1", await port_of(listener))):
        link = await links.made.get()
        assert link.facts == PeerFacts("tcp", address="::1", is_local=True)
    await link.lost.get()
