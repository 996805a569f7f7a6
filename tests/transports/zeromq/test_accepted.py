"""Is a connection that belongs to somebody else asked and ended without harm to any other?"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IConnection
from fmqbus.transports.zeromq.accepted import Accepted

Pair = tuple[socket.socket, socket.socket]


def connect() -> Pair:
    """The accepting end of a TCP connection, and the other."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    return accepted, client


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A connection."""
    accepted, client = connect()
    with accepted, client:
        yield accepted, client


def test_it_knows_the_other_end_and_what_came_from_there(pair: Pair) -> None:
    """By the kernel's word."""
    accepted, client = pair
    connection = Accepted(accepted.fileno())
    assert verifyObject(IConnection, connection)
    assert connection.facts.is_local
    assert connection.facts.port == client.getsockname()[1]
    assert connection.octets_received == 0
    client.sendall(b"hello")
    assert accepted.recv(5) == b"hello"
    assert connection.octets_received == 5


def test_to_ask_does_not_close_it(pair: Pair) -> None:
    """The descriptor is given back."""
    accepted, client = pair
    for _ in range(3):
        Accepted(accepted.fileno()).look()
    client.sendall(b"x")
    assert accepted.recv(1) == b"x"


def test_it_ends_in_good_order(pair: Pair) -> None:
    """Both sides read to the end."""
    accepted, client = pair
    Accepted(accepted.fileno()).lose("idle")
    assert accepted.recv(1) == client.recv(1) == b""


def test_it_ends_at_once(pair: Pair) -> None:
    """When its owner sees that and closes it, whoever still sends is told."""
    accepted, client = pair
    client.sendall(bytes(1000))
    Accepted(accepted.fileno()).abort("too much")
    accepted.close()
    with pytest.raises(ConnectionError):
        while client.recv(1000):
            """The end in good order came first."""
        client.sendall(b"x")
        client.recv(1)


def test_one_that_has_gone_says_so(pair: Pair) -> None:
    """However often it is asked, and nothing is raised."""
    accepted, _ = pair
    connection = Accepted(accepted.fileno())
    accepted.close()
    assert connection.look() is None
    assert connection.octets_received == 0
    connection.lose("idle")
    connection.abort("idle")


def test_another_one_with_the_same_descriptor_is_left_alone(pair: Pair) -> None:
    """Descriptors are soon used again."""
    accepted, _ = pair
    descriptor = accepted.fileno()
    connection = Accepted(descriptor)
    other, other_client = connect()
    with other_client:
        os.dup2(other.fileno(), descriptor)
        other.close()
        assert connection.look() is None
        connection.abort("too much")
        other_client.sendall(b"x")
        assert accepted.recv(1) == b"x"


def test_what_is_no_tcp_connection_is_none(tmp_path: Path) -> None:
    """A file, a UNIX socket, nothing at all."""
    one, two = socket.socketpair()
    with one, two, (tmp_path / "file").open("w") as file:
        for descriptor in (one.fileno(), file.fileno(), 99_999):
            with pytest.raises(OSError, match=r"TCP|non-socket|descriptor"):
                Accepted(descriptor)
