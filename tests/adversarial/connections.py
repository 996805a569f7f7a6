"""What of very many connections, and of those that come and go?"""

from __future__ import annotations

import select
import socket
import ssl
import time
from contextlib import ExitStack
from pathlib import Path

from fmqbus.protocols.fmqp.codec import SUBSCRIPTION, encode
from tests.adversarial.attack import Siege, attack, scale
from tests.adversarial.client import Client, Deadline, reset, wait_until
from tests.adversarial.half_sent import announce
from tests.adversarial.measure import load_of
from tests.adversarial.subscriptions import OWN_SUBSCRIPTIONS
from tests.live.broker import PATIENCE_SECONDS
from tests.transports.certificates import issue


def begin_connecting(port: int, connections: int, opened: ExitStack) -> list[socket.socket]:
    """Begin so many connections without waiting for any."""
    begun = []
    for _ in range(connections):
        connection = opened.enter_context(socket.socket())
        connection.setblocking(False)
        connection.connect_ex(("127.0.0.1", port))
        begun.append(connection)
    return begun


@attack(
    "{connections:,} connections as fast as they can be made",
    full=scale(memory_mib=64, connections=5_000),
    smoke=scale(memory_mib=16, connections=500),
)
def accept_storm(siege: Siege, connections: int) -> str:
    """All are served, and the others all the while."""
    observer = siege.client()
    begun = time.monotonic()
    with ExitStack() as opened:
        begin_connecting(siege.broker.port, connections, opened)
        observer.number(b"$/info/clients", lambda clients: clients == connections + 3)
        seconds = time.monotonic() - begun
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    return f"all accepted, {connections / seconds:,.0f} a second"


@attack(
    "{connections:,} connections where {limit:,} may be",
    config="[limits]\nconnections = 503\n",
    full=scale(memory_mib=24, connections=1_400, limit=500),
    smoke=scale(memory_mib=16, connections=700, limit=500),
)
def connection_limit(siege: Siege, connections: int, limit: int) -> str:
    """At the limit the broker accepts no more and does not spin on those that wait; it goes on when there is room."""
    observer = siege.client()
    with ExitStack() as opened:
        crowd = begin_connecting(siege.broker.port, connections, opened)
        observer.number(b"$/info/clients", lambda clients: clients == limit + 3)
        siege.broker.wait_for("is full: new connections wait")
        load = load_of(siege.broker, seconds=1.0)
        # the witness alone takes some
        assert load < 0.5, f"the broker uses {load:.0%} of a core at its limit"
        # those accepted first go, and as many of the waiting come in
        for connection in crowd[:100]:
            reset(connection)
        waiting = crowd[limit : limit + 100]
        for connection in waiting:
            connection.sendall(encode(SUBSCRIPTION, b"served") + encode(0, b"served", b"!"))
        wait_until(lambda: len(select.select(waiting, [], [], 0)[0]) == len(waiting), "those that waited are served")
        assert all(connection.recv(1) for connection in waiting), "of those that waited some were turned away"
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    return f"{limit} accepted, the others waited in the kernel; {load:.0%} of a core meanwhile"


@attack(
    "{connections:,} connections that are reset at once, half of them after a packet",
    full=scale(memory_mib=16, connections=20_000),
    smoke=scale(memory_mib=16, connections=1_000),
)
def connect_and_reset(siege: Siege, connections: int) -> str:
    """Each is a client that comes and goes, or was gone before it was accepted."""
    observer = siege.client()
    begun = time.monotonic()
    for number in range(connections):
        connection = siege.broker.connect()
        if number % 2:
            connection.sendall(encode(SUBSCRIPTION, b"reset/%d" % number))
        reset(connection)
    observer.number(b"$/info/clients", lambda clients: clients == 3)
    seconds = time.monotonic() - begun
    observer.number(b"$/info/subscriptions", OWN_SUBSCRIPTIONS.__eq__)
    return f"{connections / seconds:,.0f} a second, no subscription left behind"


def _certificate(folder: Path) -> None:
    issue("localhost").write(folder)


@attack(
    "{connections:,} TLS handshakes that are begun and not ended, over the {places:,} that may wait",
    listen=("fmqp:tcp:0", "fmqp:ssl:0:privateKey=FOLDER/key.pem:certKey=FOLDER/certificate.pem"),
    prepare=_certificate,
    full=scale(memory_mib=160, connections=3_000, places=1_024),
    smoke=scale(memory_mib=160, connections=1_200, places=1_024),
)
def hanging_handshakes(siege: Siege, connections: int, places: int) -> str:
    """The one that has waited longest goes when the places are taken; an honest client gets through."""
    port = siege.broker.port_of("fmqp:ssl")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with ExitStack() as opened:
        begun = []
        for _ in range(connections):
            connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS))
            connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00")  # a record that goes on
            begun.append(connection)
        plain = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        with context.wrap_socket(plain) as honest:
            Client(honest).settle()
        gone = _closed(begun)
        assert gone >= connections - places, f"only {gone} have gone"
    return f"{gone:,} gave way, an honest client got through"


def _closed(connections: list[socket.socket]) -> int:
    """How many of them the broker has closed."""
    poller = select.poll()
    for connection in connections:
        poller.register(connection, select.POLLIN)
    return len(poller.poll(0))


@attack(
    "{connections:,} UNIX connections in the middle of a packet",
    listen=("fmqp:tcp:0", "fmqp:unix:FOLDER/bus.sock"),
    full=scale(memory_mib=32, connections=1_000),
    smoke=scale(memory_mib=16, connections=100),
)
def hanging_unix(siege: Siege, connections: int) -> str:
    """As through TCP; another client of the same socket is served."""
    path = str(siege.folder / "bus.sock")
    with ExitStack() as opened:
        for _ in range(connections):
            connection = opened.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(PATIENCE_SECONDS)
            deadline = Deadline()
            while connection.connect_ex(path):  # EAGAIN while the kernel's queue is full
                deadline.check("a place in the queue of the socket")
                time.sleep(0.001)
            connection.sendall(announce(1000) + bytes(999))
        honest = opened.enter_context(socket.socket(socket.AF_UNIX))
        honest.connect(path)
        honest.settimeout(PATIENCE_SECONDS)
        client = Client(honest)
        client.settle()
        client.number(b"$/info/clients", lambda clients: clients == connections + 3)
    return "all kept, an honest client is served"
