"""Do the parts that come with fmqbus, and the kit's own fakes, keep the contracts that vendors' parts must keep?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from twisted.internet.endpoints import TCP6ClientEndpoint, UNIXClientEndpoint
from twisted.internet.interfaces import IListeningPort
from twisted.plugin import IPlugin
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.auth.defaults import LocalPeers
from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.policy import Rule, RulePolicy
from fmqbus.auth.who import Who
from fmqbus.calls import Answer, Call
from fmqbus.interfaces import (
    IAuthorizer,
    IBusProtocol,
    ILink,
    IListener,
    IObserver,
    IPeer,
    IRouter,
    IServiceContext,
    IServiceTopic,
    ISession,
    ITransport,
)
from fmqbus.model import Consumer, Interest, Outcome, Principal, Publication, StoredMessage
from fmqbus.protocols.fmqp.plug import FMQP
from fmqbus.protocols.fmqp.session import FMQPSession
from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN
from fmqbus.protocols.micromsg2.handshake import Handshake, encode, parse_entries
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.plug import MICROMSG2
from fmqbus.protocols.micromsg2.session import MicroMsg2Session
from fmqbus.testing.bus import LOCAL, MemoryClient, OpenPolicy
from fmqbus.testing.contracts.authorizer import AuthorizerContract
from fmqbus.testing.contracts.observer import ObserverContract
from fmqbus.testing.contracts.peer import PeerContract
from fmqbus.testing.contracts.protocol import BusProtocolContract
from fmqbus.testing.contracts.service_topic import ServiceTopicContract
from fmqbus.testing.contracts.transport import TransportContract
from fmqbus.testing.links import MemoryLink, MemoryListener
from fmqbus.testing.service_context import MemoryServiceContext
from fmqbus.transports import carriers


class TestLocalPeers(AuthorizerContract):
    """The default of a bus without rules."""

    def make_authorizer(self) -> IAuthorizer:
        return LocalPeers()


class TestRulePolicy(AuthorizerContract):
    """An operator's rules."""

    def make_authorizer(self) -> IAuthorizer:
        rules = [
            Rule("deny", "*", (Who("*"),), (NamePattern("a/*"),)),
            Rule("allow", "*", (Who("local"),), (NamePattern("**"),)),
            Rule("allow", "*", (Who("address:192.0.2.0/24"),), (NamePattern("straße/**"),)),
        ]
        return RulePolicy(rules)


class TestOpenPolicy(AuthorizerContract):
    """The kit's fake."""

    def make_authorizer(self) -> IAuthorizer:
        return OpenPolicy()


TOPICS = {topic.topic.decode(): topic for topic in FMQP.service_topics({})}


@pytest.mark.parametrize("name", TOPICS, scope="class")
class TestServiceTopics(ServiceTopicContract):
    """All that FMQP brings."""

    @pytest.fixture(autouse=True)
    def _choose(self, name: str) -> None:
        self._name = name

    def make_topic(self) -> IServiceTopic:
        return TOPICS[self._name]


class TestFMQP(BusProtocolContract):
    """The first protocol."""

    def make_protocol(self) -> IBusProtocol:
        return FMQP


class TestMicroMsg2(BusProtocolContract):
    """The second, with all its extensions."""

    parts = BUILT_IN
    options: ClassVar[Mapping[str, Any]] = {"required": "batch-ack:max-count=3", "suggested": "dotnet;json"}

    def make_protocol(self) -> IBusProtocol:
        return MICROMSG2


class TestFMQPSession(PeerContract):
    """FMQP's end of the bus."""

    def attach(self, router: IRouter) -> tuple[IPeer, ISession]:
        session = FMQPSession(router, Principal("fmqp", LOCAL.facts), MemoryLink())
        return session, session.bus


@pytest.mark.parametrize("extensions", ["", "ack:count=1000", "dotnet"], scope="class")
class TestMicroMsg2Session(PeerContract):
    """MicroMsg2's, once the handshake is over: without acknowledgements, with them, and with an extension that looks at
    every message."""

    @pytest.fixture(autouse=True)
    def _choose(self, extensions: str) -> None:
        self._handshakes = 2 * encode(Handshake(required=parse_entries(extensions)))

    def attach(self, router: IRouter) -> tuple[IPeer, ISession]:
        offer = Offer(identity=b"", extensions=BUILT_IN)
        session = MicroMsg2Session(router, Principal("micromsg2", LOCAL.facts), MemoryLink(), offer, b"default")
        for event in session.connection.receive(self._handshakes):
            list(session.heard(event))
        return session, session.bus


@pytest.mark.parametrize("is_blind", [True, False])
class TestMemoryClient(PeerContract):
    """The kit's fake."""

    @pytest.fixture(autouse=True)
    def _choose(self, is_blind: bool) -> None:
        self._is_blind = is_blind

    def attach(self, router: IRouter) -> tuple[IPeer, ISession]:
        client = MemoryClient(router, is_blind=self._is_blind)
        return client, client.session


@implementer(IPlugin, IObserver)
class Onlooker:
    """An observer that only looks."""

    def published(self, session: ISession | None, publication: Publication) -> None:
        """See `IObserver`."""

    def dropped(self, session: ISession, publication: Publication, reason: str) -> None:
        """See `IObserver`."""

    def enqueued(self, session: ISession | None, messages: Sequence[StoredMessage]) -> None:
        """See `IObserver`."""

    def taken(self, session: ISession, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """See `IObserver`."""

    def settled(
        self, session: ISession, consumer: Consumer, messages: Sequence[StoredMessage], outcome: Outcome
    ) -> None:
        """See `IObserver`."""

    def gave_up(self, queue: bytes, message: StoredMessage, reason: str) -> None:
        """See `IObserver`."""

    def interest_changed(self, change: Interest) -> None:
        """See `IObserver`."""

    def asked(self, calls: Sequence[Call]) -> None:
        """See `IObserver`."""

    def called(self, session: ISession, calls: Sequence[Call]) -> None:
        """See `IObserver`."""

    def answered(self, answers: Sequence[Answer]) -> None:
        """See `IObserver`."""

    def session_opened(self, session: ISession) -> None:
        """See `IObserver`."""

    def session_closed(self, session: ISession, reason: str) -> None:
        """See `IObserver`."""


class TestOnlooker(ObserverContract):
    """The least that an observer can be."""

    def make_observer(self) -> IObserver:
        return Onlooker()


class LoopbackContract(TransportContract):
    """What the built-in carriers have in common."""

    def reactor(self) -> Any:
        from twisted.internet import reactor

        return reactor

    def place(self, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        return ["0"], {}


class TestTCP(LoopbackContract):
    """IPv4."""

    def make_transport(self) -> ITransport:
        return carriers.tcp


class TestTCP6(LoopbackContract):
    """IPv6."""

    def make_transport(self) -> ITransport:
        return carriers.tcp6

    def client_endpoint(self, port: IListeningPort) -> Any:
        address: Any = port.getHost()
        return TCP6ClientEndpoint(self.reactor(), address.host, address.port)


class TestUNIX(LoopbackContract):
    """UNIX sockets."""

    def make_transport(self) -> ITransport:
        return carriers.unix

    def place(self, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        return [str(folder / "bus.sock")], {}

    def place_of(self, port: IListeningPort, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        return self.place(folder)

    def client_endpoint(self, port: IListeningPort) -> Any:
        address: Any = port.getHost()
        return UNIXClientEndpoint(self.reactor(), address.name.decode())


class TestHAProxy(LoopbackContract):
    """Behind a proxy that says whom it forwards."""

    preamble = b"PROXY TCP4 127.0.0.1 127.0.0.1 40000 7700\r\n"

    def make_transport(self) -> ITransport:
        return carriers.haproxy

    def place(self, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        return ["tcp", "0"], {"trust": "127.0.0.1"}

    def place_of(self, port: IListeningPort, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        (number,), options = super().place_of(port, folder)
        return ["tcp", number], options


class TestUnits(LoopbackContract):
    """A carrier of units carries octets all the same; the framing is the protocol's part."""

    def make_transport(self) -> ITransport:
        return carriers.units

    def place(self, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        return ["tcp", "0"], {}

    def place_of(self, port: IListeningPort, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        (number,), options = super().place_of(port, folder)
        return ["tcp", number], options


def test_the_rest_of_the_kit_provides_what_it_stands_for() -> None:
    """Links, listeners and contexts in memory."""
    assert verifyObject(ILink, MemoryLink())
    assert verifyObject(IListener, MemoryListener())
    assert verifyObject(IServiceContext, MemoryServiceContext())
