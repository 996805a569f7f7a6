"""Does a protocol keep what `IBusProtocol` promises?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

import pytest
from twisted.internet.interfaces import IProtocolFactory
from twisted.internet.testing import StringTransport
from zope.interface.verify import verifyObject

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IRouter, IServiceTopic, IUnitFactory
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.links import MemoryListener
from fmqbus.transports.length_prefixed import LengthPrefixed
from fmqbus.transports.listen_string import parse_listen_string


class _Connection:
    """One connection of the protocol under test, whose other end is the test."""

    def __init__(self, factory: Any, listener: MemoryListener) -> None:
        self.protocol: Any = factory.buildProtocol(None)
        self.transport = StringTransport()
        self._listener = listener
        self.protocol.makeConnection(self.transport)

    def say(self, octets: bytes) -> None:
        """Octets come in, and time enough passes to act on them."""
        self.protocol.dataReceived(octets)
        self._listener.clock.pump([0.0] * 100)

    def lose(self) -> None:
        """The link has gone."""
        self.protocol.connectionLost()


class BusProtocolContract:
    """Derive from this, and say how to make the protocol."""

    #: What the protocol needs in its table of the configuration file.
    options: ClassVar[Mapping[str, Any]] = {}
    #: Parts that extend the protocol, and are installed.
    parts: ClassVar[Sequence[Any]] = ()

    def make_protocol(self) -> IBusProtocol:
        """Return the protocol."""
        raise NotImplementedError

    def _listener(self) -> MemoryListener:
        return MemoryListener(installed=self.parts)

    def _connect(self, router: IRouter, listener: MemoryListener) -> _Connection:
        factory = self.make_protocol().make_factory(router, listener, self.options)
        if IUnitFactory.providedBy(factory):  # without a handshake, the octets of a test reach the protocol itself
            factory = factory.framed(LengthPrefixed())
        return _Connection(factory, listener)

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the bus calls, also in what it makes."""
        protocol = self.make_protocol()
        assert verifyObject(IBusProtocol, protocol)
        assert verifyObject(IProtocolFactory, protocol.make_factory(make_router(), self._listener(), self.options))
        for topic in protocol.service_topics(self.options):
            assert verifyObject(IServiceTopic, topic)

    def test_it_has_a_name_for_listen_strings_and_a_line_for_the_help(self) -> None:
        """In lower case, without anything that would have to be escaped."""
        protocol = self.make_protocol()
        assert re.fullmatch(r"[a-z][a-z0-9+.-]*", protocol.name)
        assert protocol.summary.strip()
        assert len(protocol.summary.splitlines()) == 1

    def test_by_default_it_listens_on_this_machine_only(self) -> None:
        """Whatever the kind of endpoint, an interface that is named is a loopback one."""
        protocol = self.make_protocol()
        for endpoint in protocol.default_listen:
            place = parse_listen_string(f"{protocol.name}:{endpoint}")
            if place.prefix != "unix":
                assert place.options["interface"] in {"127.0.0.1", "::1", "localhost"}

    def test_an_option_that_there_is_not_is_refused_by_name(self) -> None:
        """A misspelt one must not be ignored."""
        options = {**self.options, "no-such-option": 1}
        with pytest.raises(ConfigError, match="no-such-option"):
            self.make_protocol().make_factory(make_router(), self._listener(), options)

    def test_a_connection_comes_and_goes(self) -> None:
        """The listener is asked once and told once; nothing is left on the bus."""
        router, listener = make_router(), self._listener()
        connection = self._connect(router, listener)
        assert len(listener.connections) == 1
        connection.lose()
        assert listener.connections == []
        assert router.sessions() == ()
        assert listener.clock.getDelayedCalls() == []

    def test_a_connection_that_is_not_admitted_is_aborted(self) -> None:
        """It gets no session, what it says is not heard, and its end is not told."""
        router, listener = make_router(), self._listener()
        listener.is_admitting = False
        connection = self._connect(router, listener)
        assert connection.transport.disconnected
        assert router.sessions() == ()
        connection.say(b"hello")
        connection.lose()
        assert router.sessions() == ()

    def test_a_draining_bus_turns_a_connection_away(self) -> None:
        """Without harm to the protocol: what the client says meanwhile is not heard."""
        router, listener = make_router(), self._listener()
        router.drain()
        connection = self._connect(router, listener)
        connection.say(b"hello")
        assert connection.transport.disconnecting
        connection.lose()
        assert listener.connections == []
        assert router.sessions() == ()

    @pytest.mark.parametrize("seed", range(20))
    def test_no_octets_whatever_do_harm(self, seed: int) -> None:
        """Random ones, in random pieces: nothing is raised, others are served, and in the end nothing is left."""
        random = Random(seed)
        router, listener = make_router(), self._listener()
        reader, writer = MemoryClient(router), MemoryClient(router)
        reader.subscribe(b"a/b/c/d")
        connection = self._connect(router, listener)
        for _ in range(50):
            zeros = random.choice((0.0, 0.5, 0.9))
            connection.say(
                bytes(0 if random.random() < zeros else random.randrange(256) for _ in range(random.randint(1, 60)))
            )
        writer.publish(b"a/b/c/d", b"still here")
        assert b"still here" in reader.payloads
        connection.lose()
        reader.close()
        writer.close()
        assert router.sessions() == ()
        assert router.subscriptions == 0
        assert listener.connections == []
        assert listener.held == 0
