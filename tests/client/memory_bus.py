"""The other end of a client, in memory: an endpoint whose connections say and hear what a test tells them."""

from __future__ import annotations

from typing import Any

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


class Connection(StringTransport):
    """One connection, as the broker sees it. Closes in a later turn, as real ones do."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._decoder = Decoder(DEFAULT_LIMITS.body_octets)
        self.protocol: Any = None
        self.is_aborted = False
        #: A broker that reads: the client's orderly close then ends the connection.
        self.reads = True

    def heard(self) -> list[Packet]:
        """What the client has said since this was last called."""
        data = self.value()
        self.clear()
        return [event for event in self._decoder.feed(data, _Alone()) if isinstance(event, Packet)]

    def say(self, *packets: bytes) -> None:
        """Let the client hear these packets in one read."""
        self.protocol.dataReceived(b"".join(packets))

    def say_demand(self, pattern: bytes, subscribers: int) -> None:
        """Let the client hear how many subscribe to a pattern."""
        self.say(encode(FEEDBACK, pattern, subscribers.to_bytes(8, "big") if subscribers else b""))

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
        super().loseConnection()
        if self.reads:
            self._clock.callLater(0, self.protocol.connectionLost, Failure(ConnectionDone()))

    def abortConnection(self) -> None:
        self.is_aborted = True
        self._clock.callLater(0, self.protocol.connectionLost, Failure(ConnectionLost()))


@implementer(IStreamClientEndpoint)
class MemoryBus:
    """An endpoint, a clock, and the client that uses both."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.clock = Clock()
        self.connections: list[Connection] = []
        #: Attempts to connect fail while this is set.
        self.is_down = False
        self.attempts = 0
        self.client = FMQPClient(self, self.clock, limits=limits, retry_policy=lambda attempt: 1.0)

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        self.attempts += 1
        if self.is_down:
            return fail(ConnectionRefusedError())
        connection = Connection(self.clock)
        connection.protocol = protocolFactory.buildProtocol(connection.getPeer())
        self.connections.append(connection)
        connection.protocol.makeConnection(connection)
        return succeed(connection.protocol)

    @property
    def connection(self) -> Connection:
        """The latest connection."""
        return self.connections[-1]

    def start(self) -> Connection:
        """Connect the client; returns its connection, with nothing heard yet."""
        self.client.startService()
        return self.connection

    def come_back(self) -> Connection:
        """Let the client's next attempt happen; returns the new connection."""
        self.clock.advance(1.0)
        return self.connection
