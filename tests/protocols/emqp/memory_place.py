"""A whole bus in memory with eMQP on it: peers say commands and hear commands, and time is turned by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from fmqbus.app.plugs import Plug
from fmqbus.errors import Detached
from fmqbus.interfaces import IPartsSocket, ISocketGroup
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Origin, PeerFacts
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import Command, Heartbeat, Inform, Ready, Request, Role
from fmqbus.protocols.emqp.protocol import SOCKETS
from fmqbus.testing.bus import MemoryClient
from tests.protocols.memory_bus import MemoryBus

NEIGHBOUR = Origin(PeerFacts("tcp", "127.0.0.1", is_local=True), "DEALER")
REQ = Origin(PeerFacts("tcp", "127.0.0.1", is_local=True), "REQ")
STRANGER = Origin(PeerFacts("tcp", "192.0.2.1"), "DEALER")

JOB = b'["run", {"path": "jobs", "callable": "add", "args": [1, 2]}]'


@implementer(IPartsSocket)
class MemorySocket:
    """Remembers what is sent, but for peers that are gone, or full."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: dict[bytes, list[list[bytes]]] = {}
        self.gone: set[bytes] = set()
        self.full: set[bytes] = set()
        self.is_reading = False

    def send(self, peer: bytes, parts: Sequence[bytes]) -> bool:
        if peer in self.gone:
            raise Detached("there is no such peer")
        self.sent.setdefault(peer, []).append(list(parts))
        return peer not in self.full

    def forget(self, peer: bytes) -> Sequence[Sequence[bytes]]:
        unread = self.sent.pop(peer, [])
        return unread if peer in self.full else []

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


@implementer(ISocketGroup)
class MemoryGroup:
    """The sockets of one place. `shared` gives some names the socket of another."""

    def __init__(self, shared: Mapping[str, str], host: str) -> None:
        own = {plan.name: MemorySocket(plan.name) for plan in SOCKETS}
        self.sockets = {name: own[shared.get(name, name)] for name in own}
        self.ports = dict.fromkeys(own, 0)
        self.is_closed = False
        self._host = host

    def close(self) -> Deferred[None]:
        self.is_closed = True
        return succeed(None)

    def startListening(self) -> None:
        """It does."""

    def stopListening(self) -> Deferred[None]:
        return succeed(None)

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", self._host, 0)


class Place(MemoryBus):
    """The bus, and the one place where it speaks eMQP."""

    def __init__(
        self,
        config: str = "",
        *,
        shared: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        plugs: Sequence[Plug] = (),
        others: Sequence[str] = (),
    ) -> None:
        """`shared` gives some sockets the place of another; `others` are protocols that are spoken, too."""
        super().__init__("emqp", *others, config=config, plugs=plugs)
        self.group = MemoryGroup(shared or {}, host)
        factory: Any = self.carriers["emqp"].factory
        self.protocol = factory.buildProtocol(None)
        self.protocol.opened(self.group)

    def peer(self, identity: bytes, socket: str = "frontend", origin: Origin = NEIGHBOUR) -> Peer:
        """Somebody at one of the sockets."""
        return Peer(self, identity, socket, origin)

    def worker(
        self, identity: bytes = b"worker", queues: bytes = b"", credit: int = 0, origin: Origin = NEIGHBOUR
    ) -> Peer:
        """A worker that has INFORMed, and can take so many jobs."""
        worker = self.peer(identity, "backend", origin)
        worker.say(Inform(b"i", queues, Role.WORKER), *[Ready(b"r")] * credit)
        worker.heard()
        return worker

    def bystander(self) -> MemoryClient:
        """A client of another protocol."""
        return MemoryClient(self.router)

    def stop_listening(self) -> Deferred[None]:
        """The listener lets nobody in any more."""
        stopping: Deferred[None] = self.protocol.stopping()
        return stopping


class Peer:
    """One peer at one socket."""

    def __init__(self, place: Place, identity: bytes, socket: str, origin: Origin) -> None:
        self._place = place
        self._identity = identity
        self.socket: Any = place.group.sockets[socket]
        self._origin = origin

    def say(self, *commands: Command) -> None:
        """All in one turn."""
        self.say_parts(*map(encode, commands))

    def say_parts(self, *messages: Sequence[bytes]) -> None:
        """The same with the very parts."""
        for parts in messages:
            self._place.protocol.arrived(self.socket, self._identity, list(parts), self._origin)
        self._place.protocol.turn_over()
        self._place.wait()

    def request(self, message_id: bytes = b"1", headers: bytes = b"", queue: bytes = b"", body: bytes = JOB) -> None:
        """A job."""
        self.say(Request(message_id, queue, headers, body))

    def heard_parts(self) -> list[list[bytes]]:
        """The messages that have come since the last call."""
        return self.socket.sent.pop(self._identity, [])

    def heard_all(self) -> list[Command]:
        """The same, read."""
        return [decode(parts, DEFAULT_LIMITS) for parts in self.heard_parts()]

    def heard(self) -> list[Command]:
        """The same without HEARTBEATs."""
        return [command for command in self.heard_all() if not isinstance(command, Heartbeat)]

    def vanish(self) -> None:
        """ZeroMQ does not find it any more."""
        self.socket.gone.add(self._identity)

    def return_again(self) -> None:
        """It is connected again."""
        self.socket.gone.discard(self._identity)
