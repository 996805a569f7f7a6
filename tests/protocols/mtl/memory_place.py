"""A whole bus in memory with MTL on it: clients ask and are answered, flows say hear, and time is turned by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from fmqbus.app.plugs import Plug
from fmqbus.interfaces import ISocketGroup
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Origin, PeerFacts
from fmqbus.protocols.mtl.codec import decode_from_broker, encode
from fmqbus.protocols.mtl.commands import (
    Command,
    Content,
    DataLease,
    Done,
    Lease,
    Open,
    Ping,
    Profile,
    Reader,
    Ready,
    Reply,
    Request,
    Response,
    Summon,
    Writer,
)
from fmqbus.testing.bus import MemoryClient
from tests.protocols.emqp.memory_place import MemorySocket
from tests.protocols.memory_bus import MemoryBus

HERE = PeerFacts("tcp", "127.0.0.1", is_local=True)
REQ, DEALER = Origin(HERE, "REQ"), Origin(HERE, "DEALER")
#: Somebody elsewhere, whom no rule of the defaults lets do anything.
STRANGER = Origin(PeerFacts("tcp", "192.0.2.1"), "DEALER")

CONTROL_PORT, DATA_PORT = 5975, 5976
OK, BAD, FORBIDDEN = 200, 400, 403


@implementer(ISocketGroup)
class MemoryGroup:
    """The sockets of one place: one, or one for each flow."""

    def __init__(self, has_data_port: bool) -> None:
        control = MemorySocket("control")
        self.sockets = {"control": control}
        self.ports = {"control": CONTROL_PORT}
        if has_data_port:
            self.sockets["data"] = MemorySocket("data")
            self.ports["data"] = DATA_PORT
        self.is_closed = False

    def close(self) -> Deferred[None]:
        self.is_closed = True
        return succeed(None)

    def startListening(self) -> None:
        """It does."""

    def stopListening(self) -> Deferred[None]:
        return succeed(None)

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", "127.0.0.1", CONTROL_PORT)


class Place(MemoryBus):
    """The bus, and the one place where it speaks MTL."""

    def __init__(
        self,
        settings: str = "",
        tables: str = "",
        *,
        has_data_port: bool = False,
        plugs: Sequence[Plug] = (),
        others: Sequence[str] = (),
    ) -> None:
        """`settings` are lines of ``[protocols.mtl]``, `tables` whatever else a configuration has; `others` are
        protocols that are spoken, too."""
        super().__init__("mtl", *others, config=f"{tables}\n[protocols.mtl]\n{settings}\n", plugs=plugs)
        self.group = MemoryGroup(has_data_port)
        factory: Any = self.carriers["mtl"].factory
        self.protocol = factory.buildProtocol(None)
        self.protocol.opened(self.group)

    @property
    def data_socket(self) -> MemorySocket:
        """Where data flows are."""
        return self.group.sockets.get("data", self.group.sockets["control"])

    def client(self, identity: bytes = b"client", origin: Origin = REQ) -> Client:
        """Somebody on the control flow, who has said nothing."""
        return Client(self, identity, origin)

    def ready(self, profile: str, identity: bytes = b"client", origin: Origin = REQ) -> Client:
        """One that has opened, and chosen a profile."""
        client = self.client(identity, origin)
        assert isinstance(client.ask(Open("home")), Ready)
        assert client.ask(Profile(profile)) == Done()
        return client

    def flow(self, identity: bytes = b"flow", origin: Origin = DEALER) -> Flow:
        """Somebody on a data flow, who has said nothing."""
        return Flow(self, identity, origin)

    def reader(
        self,
        profile: str,
        *summoned: bytes,
        full: bool = False,
        identity: bytes = b"reader",
        resources: Sequence[bytes] = (),
        window: int = 0,
    ) -> Flow:
        """A flow that reads, and has summoned these; its lease is for these too unless it is for others. The contents
        that have come already are still to be heard."""
        client = self.ready(profile, b"c:" + identity)
        flow = self.flow(identity)
        flow.lease(client.lease(Reader(tuple(resources or summoned), full, window)))
        for number, resource in enumerate(summoned):
            flow.say(Summon(number, resource))
        parts = flow.heard_parts()
        contents = [message for message in parts if message[0][0] == Content.type]
        flow.socket.sent[identity] = contents
        responses = [decode_from_broker(message, DEFAULT_LIMITS) for message in parts if message not in contents]
        assert responses == [Response(number, OK) for number in range(len(summoned))]
        return flow

    def writer(self, profile: str, *resources: bytes, full: bool = False, identity: bytes = b"writer") -> Flow:
        """A flow that writes."""
        client = self.ready(profile, b"c:" + identity)
        flow = self.flow(identity)
        flow.lease(client.lease(Writer(resources, full)))
        return flow

    def bystander(self) -> MemoryClient:
        """A client of another protocol."""
        return MemoryClient(self.router)


class Client:
    """One routing identity on the control flow."""

    def __init__(self, place: Place, identity: bytes, origin: Origin) -> None:
        self.place = place
        self.identity = identity
        self.origin = origin
        self.socket: Any = place.group.sockets["control"]

    def ask(self, request: Request) -> Reply:
        """What is answered."""
        [reply] = self.replies_to(request)
        return reply

    def replies_to(self, *requests: Request) -> list[Reply]:
        """All that has been answered when these were asked in one turn, and time has stood still."""
        self.say_parts(*map(encode, requests))
        return self.heard()

    def say_parts(self, *messages: Sequence[bytes]) -> None:
        """Say the very parts, all in one turn."""
        for parts in messages:
            self.place.protocol.arrived(self.socket, self.identity, list(parts), self.origin)
        self.place.protocol.turn_over()
        self.place.wait()

    def heard_parts(self) -> list[list[bytes]]:
        """The messages that have come since the last call."""
        return self.socket.sent.pop(self.identity, [])

    def heard(self) -> list[Reply]:
        """The same, read."""
        replies = [decode_from_broker(parts, DEFAULT_LIMITS) for parts in self.heard_parts()]
        assert all(isinstance(reply, Reply) for reply in replies)
        return replies  # type: ignore[return-value]

    def lease(self, request: Reader | Writer) -> bytes:
        """Get one."""
        reply = self.ask(request)
        assert isinstance(reply, DataLease), reply
        return reply.lease


class Flow:
    """One routing identity on the data flow."""

    def __init__(self, place: Place, identity: bytes, origin: Origin) -> None:
        self.place = place
        self.identity = identity
        self.origin = origin
        self.socket = place.data_socket

    def say(self, *commands: Command) -> None:
        """All in one turn."""
        self.say_parts(*map(encode, commands))

    def say_parts(self, *messages: Sequence[bytes]) -> None:
        """The same with the very parts."""
        for parts in messages:
            self.place.protocol.arrived(self.socket, self.identity, list(parts), self.origin)
        self.place.protocol.turn_over()
        self.place.wait()

    def tell(self, *commands: Command) -> list[Command]:
        """Say these, and return what has come then."""
        self.say(*commands)
        return self.heard()

    def heard_parts(self) -> list[list[bytes]]:
        """The messages that have come since the last call."""
        return self.socket.sent.pop(self.identity, [])

    def heard_all(self) -> list[Command]:
        """The same, read."""
        commands = [decode_from_broker(parts, DEFAULT_LIMITS) for parts in self.heard_parts()]
        assert all(isinstance(command, Command) for command in commands)
        return commands  # type: ignore[return-value]

    def heard(self) -> list[Command]:
        """The same without Pings."""
        return [command for command in self.heard_all() if not isinstance(command, Ping)]

    def contents(self) -> list[tuple[bytes, bytes]]:
        """The same, where they are contents: resources and bodies."""
        heard = self.heard()
        assert all(isinstance(command, Content) for command in heard), heard
        return [(command.resource, command.body) for command in heard if isinstance(command, Content)]

    def bodies(self) -> list[bytes]:
        """Their bodies alone."""
        return [body for _, body in self.contents()]

    def lease(self, token: bytes, code: int = OK) -> None:
        """Use one."""
        assert self.tell(Lease(99, token)) == [Response(99, code)]

    def write(self, *bodies: bytes, resource: bytes = b"", first: int = 1, properties: bytes = b"") -> None:
        """Contents, in one turn."""
        self.say(*[Content(first + at, resource, properties, body) for at, body in enumerate(bodies)])

    def vanish(self) -> None:
        """ZeroMQ does not find it any more."""
        self.socket.gone.add(self.identity)

    def stop_reading(self) -> None:
        """Its link is full from the next message on."""
        self.socket.full.add(self.identity)

    def read_on(self) -> None:
        """All that was sent has left."""
        self.socket.full.discard(self.identity)
        self.place.protocol.link_clear(self.socket, self.identity)
        self.place.wait()
