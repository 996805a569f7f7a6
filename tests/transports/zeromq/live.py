"""A protocol of parts on real ZeroMQ sockets in the test's own reactor, and real peers of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import zmq
from twisted.internet import reactor
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import deferLater
from twisted.logger import LogLevel, globalLogPublisher
from zope.interface import implementer

from fmqbus.interfaces import ILogins, IPartsFactory, IPartsProtocol, IPartsSocket, ISocketGroup
from fmqbus.limits import Limits
from fmqbus.model import Origin, SocketKind, SocketPlan
from fmqbus.transports.carriers import carrier_for
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.listener import Listener
from fmqbus.transports.zeromq.plug import zmq as zmq_transport
from fmqbus.turns import Turns
from tests.transports.memory import QuietProtocol

PLANS = (
    SocketPlan("frontend", SocketKind.ROUTER, 0),
    SocketPlan("backend", SocketKind.ROUTER, 0),
    SocketPlan("pubout", SocketKind.XPUB, 0),
)


@implementer(IPartsProtocol)
class Recorder:
    """Remembers what it is told, and answers nothing by itself."""

    def __init__(self, factory: Recorders) -> None:
        self.factory = factory
        self.group: Any = None
        self.heard: list[tuple[str, bytes, Sequence[bytes], Origin]] = []
        self.discards: list[tuple[str, str]] = []
        self.cleared: list[bytes] = []
        self.lost: list[tuple[bytes, int]] = []
        self.turns = 0
        self.is_stopping = False
        #: Called with each message.
        self.answer: Callable[[IPartsSocket, bytes, Sequence[bytes]], object] = lambda *message: None

    def opened(self, group: ISocketGroup) -> None:
        self.group = group
        for socket in group.sockets.values():
            socket.resume_reading()

    def arrived(self, socket: IPartsSocket, peer: bytes, parts: Sequence[bytes], origin: Origin) -> None:
        self.heard.append((socket.name, peer, parts, origin))
        self.answer(socket, peer, parts)

    def discarded(self, socket: IPartsSocket, peer: bytes, origin: Origin, reason: str) -> None:
        self.discards.append((socket.name, reason))

    def turn_over(self) -> None:
        self.turns += 1

    def link_clear(self, socket: IPartsSocket, peer: bytes) -> None:
        self.cleared.append(peer)

    def peer_lost(self, socket: IPartsSocket, peer: bytes, unsent: Sequence[Sequence[bytes]]) -> None:
        self.lost.append((peer, unsent))

    def stopping(self) -> Deferred[None]:
        self.is_stopping = True
        return succeed(None)

    @property
    def parts(self) -> list[list[bytes]]:
        """What was heard, without the rest."""
        return [list(parts) for _, _, parts, _ in self.heard]


@implementer(IPartsFactory)
class Recorders:
    """Makes one."""

    sockets = PLANS
    listener: Listener

    def __init__(self) -> None:
        self.turns = Turns(reactor)
        self.protocol = Recorder(self)

    def buildProtocol(self, address: None) -> Recorder:
        return self.protocol


class Place:
    """A listener on ZeroMQ, and what belongs to it."""

    def __init__(
        self, text: str = "quiet:zmq:frontend=0:backend=0:pubout=0", logins: ILogins | None = None, **limits: Any
    ) -> None:
        factory = Recorders()
        carrier = carrier_for(reactor, parse_listen_string(text), [zmq_transport])
        router: Any = None  # a listener only hands it on
        parts = QuietProtocol(factory), carrier, router, Limits(**limits), {}, text
        self.listener = Listener(reactor, *parts, lambda _: (), logins)
        self.protocol = factory.protocol
        self._context = zmq.Context()
        self._peers: list[Any] = []
        self.listener.startService()

    @property
    def group(self) -> Any:
        return self.protocol.group

    def socket(self, name: str = "frontend") -> Any:
        """One of the sockets that listen."""
        return self.group.sockets[name]

    def port(self, name: str = "frontend") -> int:
        """Where it listens."""
        return int(self.group.ports[name])

    def peer(self, kind: int = zmq.DEALER, name: str = "frontend", host: str = "127.0.0.1", **options: Any) -> Any:
        """A peer, connected to one of them."""
        peer = self._context.socket(kind)
        self._peers.append(peer)
        peer.linger = 0
        for option, value in options.items():
            setattr(peer, option, value)
        peer.connect(f"tcp://{host}:{self.port(name)}")
        return peer

    async def stop(self) -> None:
        """End all of it."""
        self._context.destroy(0)
        await self.listener.stopService()
        if self.group is not None:
            await self.group.close()


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    """Let the reactor turn until something holds, which it must in some seconds."""
    clock: Any = reactor
    end = clock.seconds() + seconds
    while not condition():
        assert clock.seconds() < end, "it did not come true"
        await turn()


def turn(seconds: float = 0.001) -> Deferred[None]:
    """Let the reactor turn."""
    return deferLater(reactor, seconds)  # type: ignore[arg-type, return-value]


def received(peer: Any) -> list[bytes] | None:
    """What has come to a peer, if anything has."""
    try:
        return list(peer.recv_multipart(zmq.NOBLOCK))
    except zmq.Again:
        return None


def failures() -> Iterator[list[str]]:
    """Collects what is logged as an error or critical meanwhile."""
    seen: list[str] = []

    def observe(event: Any) -> None:
        if event["log_level"] in (LogLevel.error, LogLevel.critical):
            seen.append(str(event.get("log_failure") or event["log_format"]))

    globalLogPublisher.addObserver(observe)
    yield seen
    globalLogPublisher.removeObserver(observe)
