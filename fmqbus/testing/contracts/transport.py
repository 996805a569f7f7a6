"""Does a carrier of stream protocols keep what `ITransport` and `ICarrier` promise?"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.endpoints import TCP4ClientEndpoint, connectProtocol
from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import Factory, Protocol
from zope.interface.verify import verifyObject

from fmqbus.errors import ConfigError
from fmqbus.interfaces import ICarrier, ITransport
from fmqbus.model import PeerFacts

#: A test that waits; pytest-twisted waits for it.
Steps = Generator[Deferred[Any], Any, None]

_CLIENT, _SERVER = b"from the client", b"from the server"


class _End(Protocol):
    """One end of a connection: says its line once connected, and waits for the other's."""

    def __init__(self, line: bytes, awaited: bytes) -> None:
        self._line = line
        self._awaited = awaited
        self._heard = b""
        #: Fires with this end's transport once all has been heard.
        self.heard: Deferred[Any] = Deferred()
        self.lost: Deferred[None] = Deferred()

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.write(self._line)

    def dataReceived(self, data: bytes) -> None:
        self._heard += data
        if self._heard == self._awaited:
            self.heard.callback(self.transport)

    def connectionLost(self, reason: object = None) -> None:
        self.lost.callback(None)


class TransportContract:
    """Derive from this, and say how to make the transport, where it can listen, and how it is reached."""

    #: What a client sends before anything of the protocol.
    preamble: ClassVar[bytes] = b""

    def make_transport(self) -> ITransport:
        """Return the transport."""
        raise NotImplementedError

    def reactor(self) -> Any:
        """Return the reactor that the tests run in."""
        raise NotImplementedError

    def place(self, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        """Return arguments and options for a free place on this machine; `folder` is empty and the test's own."""
        raise NotImplementedError

    def place_of(self, port: IListeningPort, folder: Path) -> tuple[Sequence[str], Mapping[str, str]]:
        """Return arguments and options for the very place where the port listens; these are for TCP."""
        address: Any = port.getHost()
        _, options = self.place(folder)
        return [str(address.port)], options

    def client_endpoint(self, port: IListeningPort) -> Any:
        """Return the endpoint by which a client connects to the listening port; this one is for TCP."""
        address: Any = port.getHost()
        return TCP4ClientEndpoint(self.reactor(), address.host, address.port)

    def _carrier(self, folder: Path) -> ICarrier:
        arguments, options = self.place(folder)
        return self.make_transport().endpoint(self.reactor(), arguments, options)

    def test_it_provides_the_interface(self, tmp_path: Path) -> None:
        """And so does the carrier that it makes."""
        assert verifyObject(ITransport, self.make_transport())
        assert verifyObject(ICarrier, self._carrier(tmp_path))

    def test_it_has_a_prefix_for_listen_strings_and_a_line_for_the_help(self) -> None:
        """In lower case, without anything that would have to be escaped."""
        transport = self.make_transport()
        assert transport.prefix.isalnum()
        assert transport.prefix == transport.prefix.lower()
        assert transport.summary.strip()
        assert len(transport.summary.splitlines()) == 1

    def test_what_it_does_not_take_is_refused(self, tmp_path: Path) -> None:
        """One option too many, some arguments too many, and none of those that it needs."""
        transport = self.make_transport()
        arguments, options = self.place(tmp_path)
        for wrong_arguments, wrong_options in (
            (arguments, {**options, "noSuchOption": "1"}),
            ([*arguments, *["superfluous"] * 10], options),
            ([], {}),
        ):
            with pytest.raises(ConfigError):
                transport.endpoint(self.reactor(), wrong_arguments, wrong_options)

    def test_reading_good_files_again_is_no_matter(self, tmp_path: Path) -> None:
        """Also where there are none."""
        self._carrier(tmp_path).reload()

    @inlineCallbacks
    def test_it_carries_octets_both_ways_and_knows_the_other_end(self, tmp_path: Path) -> Steps:
        """A client on this machine is local. When the port is closed, the connection still stands."""
        carrier = self._carrier(tmp_path)
        server = _End(_SERVER, _CLIENT)
        port = yield carrier.listen(Factory.forProtocol(lambda: server))
        client = yield connectProtocol(self.client_endpoint(port), _End(self.preamble + _CLIENT, _SERVER))
        transport = yield server.heard
        yield client.heard
        facts = carrier.peer_facts(transport)
        assert isinstance(facts, PeerFacts)
        assert facts.is_local
        yield port.stopListening()
        assert not server.lost.called
        client.transport.loseConnection()
        yield server.lost
        yield client.lost

    @inlineCallbacks
    def test_two_cannot_listen_at_one_place(self, tmp_path: Path) -> Steps:
        """The second fails, and the first listens on."""
        server = _End(_SERVER, _CLIENT)
        port = yield self._carrier(tmp_path).listen(Factory.forProtocol(lambda: server))
        second = self.make_transport().endpoint(self.reactor(), *self.place_of(port, tmp_path))
        with pytest.raises(CannotListenError):
            yield second.listen(Factory())
        client = yield connectProtocol(self.client_endpoint(port), _End(self.preamble + _CLIENT, _SERVER))
        yield client.heard
        client.transport.loseConnection()
        yield server.lost
        yield client.lost
        yield port.stopListening()
