"""A whole bus without sockets and without waiting: octets in, octets out, time turned by hand.

Everything is as a configuration file assembles it, but the carrier: connections are made of memory. Nothing happens
between two lines of a test, so a test can say what a client has heard so far, and that it has heard no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionAborted, ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IProtocolFactory
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.app.assembly import Bus
from fmqbus.app.config import parse_config
from fmqbus.app.plugs import Plug, Plugs, find_plugs
from fmqbus.interfaces import ICarrier, ITransport
from fmqbus.model import PeerFacts
from tests.transports.memory import MemoryPort

LOCAL = PeerFacts("memory", is_local=True)
#: Somebody elsewhere, whom no rule of the defaults lets do anything.
REMOTE = PeerFacts("tcp", "192.0.2.1")


class MemoryBus:
    """A bus that has been started, with a listener for each of some protocols."""

    def __init__(self, *protocols: str, config: str = "", plugs: Sequence[Plug] = ()) -> None:
        """`config` is the text of a configuration file, `plugs` are a vendor's."""
        self.clock = Clock()
        self.carriers = {protocol: MemoryCarrier() for protocol in protocols}
        #: What clients asked by ``$/signals/...``: True for a soft stop, False for one at once.
        self.signals: list[bool] = []
        self.has_ended = False
        places = ", ".join(f'"{protocol}:memory:{protocol}"' for protocol in protocols)
        transports = Plug(ITransport, "memory", "here", _MemoryTransports(self.carriers))
        self._service = Bus(
            self.clock,
            parse_config(f"listen = [{places}]\n{config}", "bus.toml"),
            Plugs((*_installed(), transports, *plugs), ()),
            self._signalled,
            self.clock.seconds,
        )
        self.router = self._service.router
        self._service.startService()

    @property
    def drops(self) -> dict[str, int]:
        """How many packets and messages were discarded so far, by reason."""
        return self.router.statistics.drops

    def wait(self, seconds: float = 0.0) -> None:
        """Let time pass, or with none of it: let happen what Twisted does in the reactor's next turn."""
        self.clock.advance(seconds)

    def stop(self) -> None:
        """Begin a soft stop, as SIGTERM does."""
        self._service.stopService().addCallback(self._ended)

    def stop_at_once(self) -> None:
        """Stop as ``$/signals/terminate`` makes a process stop."""
        self._service.stop_at_once()
        self.stop()

    def reload(self, config: str) -> None:
        """Take over the rules of another configuration file, as SIGHUP does."""
        self._service.reload(parse_config(config, "bus.toml"))

    def _signalled(self, soft: bool) -> None:
        # as fmqbus.app.process does it: the reactor ends after the turn in which it is first told to
        self.signals.append(soft)
        if not soft:
            self._service.stop_at_once()
        if len(self.signals) == 1:
            self.clock.callLater(0, self.stop)

    def _ended(self, _: object) -> None:
        self.has_ended = True


class MemoryConnection:
    """The far end of one connection."""

    def __init__(self, bus: MemoryBus, protocol: str, facts: PeerFacts = LOCAL) -> None:
        self._protocol: Any = bus.carriers[protocol].factory.buildProtocol(None)
        self._transport = _MemoryTransport(bus.clock, self._protocol, facts)
        self._protocol.makeConnection(self._transport)

    @property
    def is_connected(self) -> bool:
        """The broker has not closed the connection, and neither have we."""
        return self._transport.connected

    @property
    def is_read(self) -> bool:
        """The broker takes what this client sends, and does not let it wait."""
        return self._transport.producerState == "producing"

    @property
    def held(self) -> int:
        """Octets that the broker holds of what has not fully arrived."""
        held: int = self._protocol.held
        return held

    def say(self, *pieces: bytes) -> None:
        """Send octets in one segment. What has no more connection is lost on the way."""
        if pieces and self.is_connected:
            self._protocol.dataReceived(b"".join(pieces))

    def heard_octets(self) -> bytes:
        """What has come since the last call."""
        octets: bytes = self._transport.value()
        self._transport.clear()
        return octets

    def record_writes(self) -> list[bytes]:
        """A list that grows by what the broker writes from now on, each time that it writes."""
        self._transport.writes = []
        return self._transport.writes

    def stop_reading(self) -> None:
        """Read no more: the link fills up."""
        self._transport.producer.pauseProducing()

    def read_on(self) -> None:
        """Read again, and at once all that the link holds."""
        self._transport.producer.resumeProducing()

    def read_once(self) -> None:
        """Read what the link holds, with which it is full again."""
        self._transport.is_to_fill = True
        self.read_on()

    def close(self) -> None:
        """Go in good order."""
        self._transport.end(ConnectionDone())

    def reset(self) -> None:
        """Go without a word, as a crashed machine does."""
        self._transport.end(ConnectionLost())

    def end_sending(self) -> None:
        """Say that nothing more will be sent, and go on reading (half-close)."""
        self._protocol.readConnectionLost()


class _MemoryTransport(StringTransport):
    """Takes all that is written; ends in the next turn, as Twisted's transports do."""

    def __init__(self, clock: Clock, protocol: Any, facts: PeerFacts) -> None:
        super().__init__(lenient=True)
        self.facts = facts
        self._clock = clock
        self._protocol = protocol
        #: The next write fills the link.
        self.is_to_fill = False
        self.writes: list[bytes] = []

    def write(self, data: bytes) -> None:
        super().write(data)
        self.writes.append(data)
        if self.is_to_fill:
            self.is_to_fill = False
            self.producer.pauseProducing()

    def loseConnection(self) -> None:
        self._clock.callLater(0, self.end, ConnectionDone())

    def abortConnection(self) -> None:
        self._clock.callLater(0, self.end, ConnectionAborted())

    def end(self, reason: Exception) -> None:
        if self.connected:
            self.connected = False
            self._protocol.connectionLost(Failure(reason))


@cache
def _installed() -> Sequence[Plug]:
    return find_plugs().found


@implementer(ICarrier)
class MemoryCarrier:
    """A place to listen at, whose port is memory."""

    factory: IProtocolFactory

    def __init__(self) -> None:
        self.port = MemoryPort()

    def fitted(self, factory: Any) -> Any:
        return factory

    def listen(self, factory: IProtocolFactory) -> Deferred[Any]:
        self.factory = factory
        return succeed(self.port)

    def peer_facts(self, transport: _MemoryTransport) -> PeerFacts:
        return transport.facts

    def reload(self) -> None:
        """There is nothing to read again."""


@implementer(ITransport)
class _MemoryTransports:
    prefix = "memory"
    summary = "the name of a place"

    def __init__(self, carriers: Mapping[str, MemoryCarrier]) -> None:
        self._carriers = carriers

    def endpoint(self, reactor: Any, arguments: Sequence[str], options: Mapping[str, str]) -> MemoryCarrier:
        return self._carriers[arguments[0]]
