"""The other end of a client, in memory: an endpoint whose connections say and hear what a test tells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.client.fmqp import FMQPClient
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import SINGLY_ROUTE, Route
from fmqbus.protocols.fmqp.codec import FEEDBACK, Decoder, Packet, encode


class _Alone(dict[bytes, Route]):
    """Routes by which a decoder gives every packet alone."""

    def __missing__(self, topic: bytes) -> Route:
        return SINGLY_ROUTE


class Wire(StringTransport):
    """One connection, as the bus sees it. Closes in a later turn, as real ones do."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.protocol: Any = None
        self.is_aborted = False
        #: A bus that reads: the client's orderly close then ends the connection.
        self.reads = True

    def written(self) -> bytes:
        """What the client has written since this was last called."""
        data = self.value()
        self.clear()
        return data

    def say(self, *octets: bytes) -> None:
        """Let the client hear these octets in one read."""
        self.protocol.dataReceived(b"".join(octets))

    def fill(self) -> None:
        """The transport has no room any more."""
        self.producer.pauseProducing()

    def drain(self) -> None:
        """The transport has room again."""
        self.producer.resumeProducing()

    def break_off(self) -> None:
        """The connection is gone without a word."""
        self.protocol.connectionLost(Failure(ConnectionLost()))

    def loseConnection(self) -> None:
        if self.reads and not self.disconnecting:
            self._clock.callLater(0, self.protocol.connectionLost, Failure(ConnectionDone()))
        super().loseConnection()

    def abortConnection(self) -> None:
        self.is_aborted = True
        self._clock.callLater(0, self.protocol.connectionLost, Failure(ConnectionLost()))


class Connection(Wire):
    """One connection of an FMQP client."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._decoder = Decoder(DEFAULT_LIMITS.body_octets)

    def heard(self) -> list[Packet]:
        """What the client has said since this was last called."""
        return [event for event in self._decoder.feed(self.written(), _Alone()) if isinstance(event, Packet)]

    def say_demand(self, pattern: bytes, subscribers: int) -> None:
        """Let the client hear how many subscribe to a pattern."""
        self.say(encode(FEEDBACK, pattern, subscribers.to_bytes(8, "big") if subscribers else b""))


W = TypeVar("W", bound=Wire)


@implementer(IStreamClientEndpoint)
class MemoryEndpoint(Generic[W]):
    """Where a client connects to, and the clock that it goes by. It tries again after a second."""

    def __init__(self, make_connection: Callable[[Clock], W]) -> None:
        self.clock = Clock()
        self.connections: list[W] = []
        #: Attempts to connect fail while this is set.
        self.is_down = False
        self.attempts = 0
        self._make_connection = make_connection

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        self.attempts += 1
        if self.is_down:
            return fail(ConnectionRefusedError())
        connection = self._make_connection(self.clock)
        connection.protocol = protocolFactory.buildProtocol(connection.getPeer())
        self.connections.append(connection)
        connection.protocol.makeConnection(connection)
        return succeed(connection.protocol)

    @property
    def connection(self) -> W:
        """The latest connection."""
        return self.connections[-1]

    def come_back(self) -> W:
        """Let the client's next attempt happen; returns the new connection."""
        self.clock.advance(1.0)
        return self.connection


class MemoryBus(MemoryEndpoint[Connection]):
    """An FMQP bus, and its client."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__(Connection)
        self.client = FMQPClient(self, self.clock, limits=limits, retry_policy=lambda attempt: 1.0)

    def start(self) -> Connection:
        """Connect the client; returns its connection, with nothing heard yet."""
        self.client.startService()
        return self.connection
