"""How do all sockets of a place begin, turn peers away, and end?"""

from __future__ import annotations

import socket as sockets
from collections.abc import Callable
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.address import IPv6Address
from twisted.internet.error import CannotListenError

from fmqbus.errors import Detached
from tests.transports.zeromq.live import Place, received, turn, until

Listen = Callable[..., Place]


@pytest_twisted.ensureDeferred
async def test_the_port_that_the_kernel_chose_is_told(listen: Listen) -> None:
    """Of each socket, and of the first one as the place's own."""
    place = listen()
    port = await place.listener.when_listening()
    assert port.getHost().port == place.port("frontend")
    assert len({place.port(name) for name in ("frontend", "backend", "pubout")}) == 3
    assert all(place.group.ports.values())


@pytest_twisted.ensureDeferred
async def test_two_names_may_be_one_socket(listen: Listen) -> None:
    """It is told under its first name."""
    with sockets.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = listen(f"quiet:zmq:frontend={port}:backend={port}")
    assert place.socket("frontend") is place.socket("backend")
    place.peer(name="backend").send(b"x")
    await until(lambda: place.protocol.heard)
    assert place.protocol.heard[0][0] == "frontend"


@pytest_twisted.ensureDeferred
async def test_it_speaks_ipv6(listen: Listen) -> None:
    """With the address in brackets, which nobody has to write."""
    place = listen(r"quiet:zmq:0:interface=\:\:1")
    port = await place.listener.when_listening()
    assert isinstance(port.getHost(), IPv6Address)
    place.peer(host="[::1]", ipv6=True).send(b"x")
    await until(lambda: place.protocol.heard)
    assert place.protocol.heard[0][3].facts.is_local


@pytest_twisted.ensureDeferred
async def test_where_one_place_is_taken_nothing_listens(listen: Listen, errors: list[str]) -> None:
    """What was opened before is closed again."""
    with sockets.create_server(("127.0.0.1", 0)) as taken, sockets.create_server(("127.0.0.1", 0)) as free:
        free_port = free.getsockname()[1]
        free.close()
        place = listen(f"quiet:zmq:frontend={free_port}:backend={taken.getsockname()[1]}")
        with pytest.raises(CannotListenError):
            await place.listener.when_listening()
    assert errors.pop() == "{listener.description} does not listen: {reason}"
    assert place.group is None
    await turn(0.1)
    sockets.create_server(("127.0.0.1", free_port)).close()


@pytest_twisted.ensureDeferred
async def test_connections_beyond_the_limit_are_turned_away(listen: Listen) -> None:
    """Until one of those that stand has gone."""
    place = listen(connections=2)
    first, second = place.peer(identity=b"1"), place.peer(identity=b"2", name="backend")
    first.send(b"x")
    second.send(b"x")
    await until(lambda: len(place.protocol.heard) == 2)
    with sockets.create_connection(("127.0.0.1", place.port())) as third:
        third.settimeout(0)
        await until(lambda: place.listener.turned_away == 1)
        await until(lambda: has_ended(third))
    assert place.listener.connections == 2
    first.close()
    await until(lambda: place.listener.connections == 1)
    with sockets.create_connection(("127.0.0.1", place.port())):
        await until(lambda: place.listener.connections == 2)
    place.socket("backend").send(b"2", [b"y"])
    await until(lambda: second.poll(0))


def has_ended(end: sockets.socket) -> bool:
    """Whether the other end has closed the connection."""
    try:
        return not end.recv(1000)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


@pytest_twisted.ensureDeferred
async def test_idle_connections_end_where_that_is_configured(listen: Listen) -> None:
    """As those of any listener."""
    place = listen(idle_seconds=0.2)
    with sockets.create_connection(("127.0.0.1", place.port())) as end:
        end.settimeout(0)
        await until(lambda: has_ended(end))
    await until(lambda: place.listener.connections == 0)


@pytest_twisted.ensureDeferred
async def test_only_allowed_networks_are_accepted(listen: Listen) -> None:
    """Before anything is heard or said; the others are counted."""
    place = listen("quiet:zmq:0:allow=10.0.0.0/8,192.168.0.0/16")
    with sockets.create_connection(("127.0.0.1", place.port())) as end:
        end.settimeout(0)
        await until(lambda: has_ended(end))
    await until(lambda: place.listener.refusals == {"network": 1})
    other = listen("quiet:zmq:0:allow=127.0.0.0/8")
    other.peer().send(b"x")
    await until(lambda: other.protocol.heard)


@pytest_twisted.ensureDeferred
async def test_pings_do_not_disturb(listen: Listen) -> None:
    """They are ZeroMQ's own business on both sides."""
    place = listen("quiet:zmq:0:ping=1")
    peer = place.peer(identity=b"me", heartbeat_ivl=50)
    peer.send(b"x")
    await turn(0.3)
    assert place.protocol.parts == [[b"x"]]
    place.socket().send(b"me", [b"y"])
    await until(lambda: peer.poll(0))


@pytest_twisted.ensureDeferred
async def test_a_stopped_place_lets_nobody_in_and_still_serves_those_inside(listen: Listen) -> None:
    """The protocol closes it when nobody is left to be told anything."""
    place = listen()
    peer = place.peer(identity=b"me")
    peer.send(b"x")
    await until(lambda: place.protocol.heard)
    await place.listener.stopService()
    assert place.protocol.is_stopping
    with sockets.create_connection(("127.0.0.1", place.port())) as end:
        end.settimeout(0)
        await until(lambda: has_ended(end))
    place.socket().send(b"me", [b"goodbye"])
    await place.group.close()
    await until(lambda: peer.poll(0))
    assert received(peer) == [b"goodbye"]
    assert place.listener.connections == 0
    with pytest.raises(Detached):
        place.socket().send(b"me", [b"x"])
    await place.group.close()


@pytest_twisted.ensureDeferred
async def test_what_a_peer_does_not_take_holds_up_the_end_for_a_bounded_time(listen: Listen) -> None:
    """The reactor goes on turning meanwhile."""
    place = listen(socket_messages=100, linger_seconds=0.3)
    peer = place.peer(identity=b"deaf", rcvhwm=1)
    peer.send(b"x")
    await until(lambda: place.protocol.heard)
    while place.socket().send(b"deaf", [bytes(100_000)]):
        pass
    clock: Any = reactor
    began = clock.seconds()
    closing = [place.group.close(), place.group.close()]
    turns = 0
    while not all(one.called for one in closing):
        await turn()
        turns += 1
    assert 0.2 < clock.seconds() - began < 5.0
    assert turns > 20


@pytest_twisted.ensureDeferred
async def test_closing_in_the_middle_of_reading_is_no_failure(listen: Listen) -> None:
    """A message may be the reason for it."""
    place = listen()
    place.protocol.answer = lambda socket, peer, parts: place.group.close()
    peer = place.peer()
    for _ in range(10):
        peer.send(b"x")
    await until(lambda: place.protocol.heard)
    await place.group.close()
    assert len(place.protocol.heard) == 1
