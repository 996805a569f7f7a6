"""What does ``zmq:`` in a listen string stand for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred, execute
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import ICarrier, IPartsFactory, ITransport
from fmqbus.model import PeerFacts
from fmqbus.transports.zeromq.options import Options, read_options
from fmqbus.transports.zeromq.places import places_of


@implementer(ITransport)
class ZeroMQTransport:
    """`ITransport` of protocols of parts, over TCP."""

    prefix = "zmq"
    summary = (
        "PORT, NAME=PORT for each socket (none: all of the protocol), interface=127.0.0.1, allow=ADDRESS,NETWORK,..., "
        "ping=0 (seconds), curveKey=FILE"
    )

    def endpoint(self, reactor: Any, arguments: Sequence[str], options: Mapping[str, str]) -> ZeroMQCarrier:
        if len(arguments) > 1:
            raise ConfigError(f"zmq: one port without a name at most; it takes {self.summary}")
        others = dict(options)
        read = read_options(
            interface=others.pop("interface", "127.0.0.1"),
            allow=others.pop("allow", ""),
            ping=others.pop("ping", "0"),
            curve_key=others.pop("curveKey", ""),
        )
        first_port = _port(arguments[0]) if arguments else None
        return ZeroMQCarrier(reactor, read, first_port, {name: _port(text) for name, text in others.items()})


@implementer(ICarrier)
@attrs.frozen
class ZeroMQCarrier:
    """The sockets of one listen string."""

    _reactor: Any
    _options: Options
    _first_port: int | None
    _ports: Mapping[str, int]

    def fitted(self, factory: Any) -> Any:
        if not IPartsFactory.providedBy(factory):
            raise ConfigError("the protocol is not one of ZeroMQ's")
        places_of(factory.sockets, self._first_port, self._ports)
        return factory

    def listen(self, factory: Any) -> Deferred[Any]:
        """Fires with a `fmqbus.transports.zeromq.group.SocketGroup`."""
        return execute(self._listen, factory)

    def peer_facts(self, transport: Any) -> PeerFacts:
        """Of nobody: what is known about peers comes with each message."""
        return PeerFacts("zmq")

    def reload(self) -> None:
        """ZeroMQ does not take a new key while it listens."""

    def _listen(self, factory: Any) -> Any:
        # by now the reactor is chosen
        from fmqbus.transports.zeromq.group import SocketGroup

        protocol = factory.buildProtocol(None)
        group = SocketGroup(self._reactor, protocol, self._options)
        group.open(places_of(protocol.factory.sockets, self._first_port, self._ports))
        return group


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 0xFFFF:
        raise ConfigError(f"zmq: a port cannot be {text!r}")
    return int(text)


zmq = ZeroMQTransport()
