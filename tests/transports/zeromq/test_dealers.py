"""Do several dealers share what is costly, and nothing else?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import pytest_twisted
import zmq
from twisted.internet import reactor

from fmqbus.errors import Detached
from fmqbus.limits import Limits
from fmqbus.transports.zeromq.dealers import Dealers
from tests.transports.zeromq.live import Place, until

Listen = Callable[..., Place]


def threads() -> int:
    """Those of this process, ZeroMQ's included."""
    return len(list(Path("/proc/self/task").iterdir()))


@pytest_twisted.ensureDeferred
async def test_each_speaks_and_hears_by_itself_and_ends_by_itself(listen: Listen) -> None:
    """And ten have no more threads than one."""
    place = listen()
    place.protocol.answer = lambda socket, peer, parts: socket.send(peer, [*parts, peer])
    heard: list[Sequence[bytes]] = []
    dealers = Dealers(reactor)
    made = [dealers.connect(f"tcp://127.0.0.1:{place.port()}", b"0", heard.append, Limits())]
    before = threads()
    for number in range(1, 10):
        identity = b"%d" % number
        made.append(dealers.connect(f"tcp://127.0.0.1:{place.port()}", identity, heard.append, Limits()))
    assert threads() == before
    for dealer in made:
        dealer.send([b"hello"])
    await until(lambda: len(heard) == 10)
    assert sorted(heard) == [[b"hello", b"%d" % number] for number in range(10)]
    await made[0].close()
    await made[0].close()
    with pytest.raises(Detached):
        made[0].send([b"x"])
    made[1].send([b"still here"])
    await until(lambda: [b"still here", b"1"] in heard)
    await dealers.close()


@pytest_twisted.ensureDeferred
async def test_what_was_said_leaves_before_the_end(listen: Listen) -> None:
    """Also on one that was closed before."""
    place = listen()
    dealers = Dealers(reactor)
    for number in range(3):
        dealer = dealers.connect(f"tcp://127.0.0.1:{place.port()}", b"%d" % number, lambda _: None, Limits())
        dealer.send([b"%d" % number])
        if number == 1:
            await dealer.close()
    await dealers.close()
    await until(lambda: sorted(place.protocol.parts) == [[b"0"], [b"1"], [b"2"]])


@pytest_twisted.ensureDeferred
async def test_an_address_that_is_none_disturbs_no_other(listen: Listen) -> None:
    """It is refused."""
    place = listen()
    dealers = Dealers(reactor)
    good = dealers.connect(f"tcp://127.0.0.1:{place.port()}", b"0", lambda _: None, Limits())
    with pytest.raises(zmq.ZMQError):
        dealers.connect("tcp://nowhere", b"1", lambda _: None, Limits())
    good.send([b"hello"])
    await until(lambda: place.protocol.heard)
    await dealers.close()
