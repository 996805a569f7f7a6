"""An MTL broker in memory, whose answers a test can choose. Sockets are played, and so is time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from fmqbus.client.mtl import MTLClient
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.mtl.codec import decode, encode
from fmqbus.protocols.mtl.commands import (
    Command,
    Content,
    DataLease,
    Dismiss,
    Done,
    Lease,
    Open,
    Ping,
    Pong,
    Profile,
    Reader,
    Ready,
    Reply,
    Request,
    Response,
    Summon,
    Writer,
)

DATA_PORT = 6000

#: To something that was said, what is said in turn.
Answer = Callable[["Socket", Any], Sequence[Reply | Command]]


def answer_well(socket: Socket, said: Any) -> Sequence[Reply | Command]:
    """As a broker that allows everything."""
    match said:
        case Open():
            return [Ready(("topic", "Queue", "test"))]
        case Profile():
            return [Done()]
        case Reader() | Writer():
            return [DataLease(DATA_PORT, b"lease")]
        case Dismiss(sequence, b""):
            return [Response(sequence, 400)]
        case Lease(sequence, _) | Summon(sequence, _) | Dismiss(sequence, _):
            return [Response(sequence, 200)]
        case Ping():
            return [Pong()]
    return []


class Socket:
    """The client's, and the broker's end of it."""

    def __init__(self, bus: MTLBus, address: str, identity: bytes, arrived: Any, clear: Any, lost: Any) -> None:
        self.address = address
        self.identity = identity
        self.is_closed = False
        #: What is sent has to wait.
        self.is_full = False
        self.clear = clear
        self._lost = lost
        self._bus = bus
        self._arrived = arrived
        self._said: list[Any] = []
        #: Contents that were said on it, in both directions.
        self.sequence = 0

    def send(self, parts: Sequence[bytes]) -> bool:
        """As a socket."""
        said = decode(parts, DEFAULT_LIMITS)
        self._said.append(said)
        self._bus.clock.callLater(0, self._answer, said)
        return not self.is_full

    def close(self) -> Deferred[None]:
        """As a socket."""
        self.is_closed = True
        return succeed(None)

    def _answer(self, said: Any) -> None:
        if not self._bus.is_down:
            self.say(*self._bus.answer(self, said))

    # for tests

    def heard(self, *kinds: type) -> list[Any]:
        """What the client has said since this was last called; of these kinds, if any are named."""
        said, self._said = self._said, []
        return [each for each in said if isinstance(each, kinds or object)]

    def say(self, *said: Reply | Command) -> None:
        """Let the client hear this."""
        for each in said:
            self.say_parts(encode(each))

    def break_off(self) -> None:
        """The connection has gone."""
        if not self.is_closed:
            self._lost()

    def say_parts(self, parts: Sequence[bytes]) -> None:
        """The same, as it travels."""
        if not self.is_closed:
            self._arrived(parts)

    def deliver(self, resource: bytes, *bodies: bytes, table: bytes = b"") -> list[int]:
        """Send contents; returns their sequences."""
        sequences = []
        for body in bodies:
            self.sequence += 1
            sequences.append(self.sequence)
            self.say(Content(self.sequence, resource, table, body))
        return sequences


class Sockets:
    """Those of one session."""

    def __init__(self, bus: MTLBus) -> None:
        self._bus = bus
        self._sockets: list[Socket] = []

    def connect(
        self, address: str, identity: bytes, arrived: Any, limits: Limits, clear: Any, passport: Any, lost: Any
    ) -> Socket:
        """As `fmqbus.transports.zeromq.dealers.Dealers`."""
        socket = Socket(self._bus, address, identity, arrived, clear, lost)
        self._sockets.append(socket)
        self._bus.sockets.append(socket)
        return socket

    def close(self) -> Deferred[None]:
        """As `fmqbus.transports.zeromq.dealers.Dealers`."""
        for socket in self._sockets:
            socket.close()
        return succeed(None)


class MTLBus:
    """A broker, and its client."""

    def __init__(
        self, target: str = "mtl://broker", answer: Answer = answer_well, limits: Any = None, **options: Any
    ) -> None:
        self.clock = Clock()
        self.sockets: list[Socket] = []
        self.answer = answer
        #: It answers nothing.
        self.is_down = False
        self.client = MTLClient(
            target,
            self.clock,
            limits=attrs.evolve(DEFAULT_LIMITS, **(limits or {})),
            retry_policy=lambda attempt: 1.0,
            make_sockets=lambda reactor: Sockets(self),
            **options,
        )

    def start(self) -> MTLBus:
        """Connect the client."""
        self.client.startService()
        self.settle()
        return self

    def settle(self) -> None:
        """Let everything be answered that is to be answered at once."""
        for _ in range(30):
            self.clock.advance(0)

    def come_back(self) -> None:
        """Let the client's next attempt happen."""
        self.clock.advance(1.0)
        self.settle()

    @property
    def control(self) -> Socket:
        """The control flow of the latest session."""
        return [socket for socket in self.sockets if socket.address == "tcp://broker:5975"][-1]

    @property
    def flows(self) -> list[Socket]:
        """The data flows that are open."""
        return [socket for socket in self.sockets if str(DATA_PORT) in socket.address and not socket.is_closed]

    @property
    def flow(self) -> Socket:
        """The only one."""
        (flow,) = self.flows
        return flow

    def requests(self) -> Iterator[Request]:
        """What was asked for on the control flow, since this was last called."""
        return iter(self.control.heard(Request))
