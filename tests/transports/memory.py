"""Ends in memory for the tests of listeners: a protocol, a carrier, a port and connections, all without sockets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IListeningPort, IPushProducer
from twisted.internet.protocol import Factory
from zope.interface import implementer

from fmqbus.interfaces import IBusProtocol, ICarrier, IConnection, IListener, IRouter, IServiceTopic
from fmqbus.model import PeerFacts


@implementer(IBusProtocol)
@attrs.define
class QuietProtocol:
    """A wire protocol whose factory a test chooses."""

    factory: Any = attrs.field(factory=Factory)
    name: str = "quiet"
    default_listen: Sequence[str] = ("tcp:0",)
    summary: str = "says nothing"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> Any:
        self.factory.listener = listener
        return self.factory

    def service_topics(self) -> Sequence[IServiceTopic]:
        return ()


@implementer(IListeningPort, IPushProducer)
@attrs.define
class MemoryPort:
    """A port that remembers what is done to it."""

    is_accepting: bool = True
    is_open: bool = True

    def startListening(self) -> None:
        self.is_open = True

    def stopListening(self) -> Deferred[None]:
        self.is_open = self.is_accepting = False
        return succeed(None)

    def getHost(self) -> IPv4Address:
        return IPv4Address("TCP", "127.0.0.1", 7700)

    def pauseProducing(self) -> None:
        self.is_accepting = False

    def resumeProducing(self) -> None:
        self.is_accepting = True

    def stopProducing(self) -> None:
        self.stopListening()


@implementer(ICarrier)
@attrs.define
class MemoryCarrier:
    """A carrier whose `listen` ends as the test says."""

    port: MemoryPort = attrs.field(factory=MemoryPort)
    answer: Deferred[Any] | None = None
    reloads: int = 0
    #: What listens.
    factory: Any = None

    def fitted(self, factory: Any) -> Any:
        return factory

    def listen(self, factory: Any) -> Deferred[Any]:
        self.factory = factory
        return succeed(self.port) if self.answer is None else self.answer

    def peer_facts(self, transport: Any) -> PeerFacts:
        return PeerFacts("memory", is_local=True)

    def reload(self) -> None:
        self.reloads += 1


@implementer(IConnection)
@attrs.define(eq=False)
class MemoryConnection:
    """A connection that remembers how it was ended."""

    octets_received: int = 0
    is_kept_waiting: bool = False
    ended: list[str] = attrs.field(factory=list)

    def lose(self, reason: str) -> None:
        self.ended.append(f"lose {reason}")

    def abort(self, reason: str) -> None:
        self.ended.append(f"abort {reason}")
