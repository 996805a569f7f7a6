"""What does ``zmq:`` in a listen string stand for?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, execute
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import ICarrier, ILogins, IPartsFactory, ITransport
from fmqbus.model import PeerFacts
from fmqbus.transports.zeromq.admission import Admission, KeysAdmission, UsersAdmission
from fmqbus.transports.zeromq.options import Options, read_options
from fmqbus.transports.zeromq.places import places_of

#: Of a listen string, and as `read_options` has them.
_OPTIONS = {
    "interface": "interface",
    "allow": "allow",
    "ping": "ping",
    "curveKey": "curve_key",
    "curveClients": "curve_clients",
    "login": "login",
}


@implementer(ITransport)
class ZeroMQTransport:
    """`ITransport` of protocols of parts, over TCP."""

    prefix = "zmq"
    summary = (
        "PORT, NAME=PORT for each socket (none: all of the protocol), interface=127.0.0.1, allow=ADDRESS,NETWORK,..., "
        "ping=0 (seconds), curveKey=FILE, curveClients=FOLDER, login=plain"
    )

    def endpoint(self, reactor: Any, arguments: Sequence[str], options: Mapping[str, str]) -> ZeroMQCarrier:
        if len(arguments) > 1:
            raise ConfigError(f"zmq: one port without a name at most; it takes {self.summary}")
        others = dict(options)
        read = read_options(**{field: others.pop(name) for name, field in _OPTIONS.items() if name in others})
        first_port = _port(arguments[0]) if arguments else None
        return ZeroMQCarrier(reactor, read, first_port, {name: _port(text) for name, text in others.items()})


@implementer(ICarrier)
class ZeroMQCarrier:
    """The sockets of one listen string."""

    def __init__(self, reactor: Any, options: Options, first_port: int | None, ports: Mapping[str, int]) -> None:
        self._reactor = reactor
        self._options = options
        self._first_port = first_port
        self._ports = ports
        self._admission: Admission | None = None

    def fitted(self, factory: Any) -> Any:
        if not IPartsFactory.providedBy(factory):
            raise ConfigError("the protocol is not one of ZeroMQ's")
        places_of(factory.sockets, self._first_port, self._ports)
        if self._options.is_curve:
            self._admission = KeysAdmission(self._options.clients, factory.listener.logins)
        elif self._options.is_login:
            self._admission = UsersAdmission(_logins_by_password(factory.listener.logins))
        return factory

    def listen(self, factory: Any) -> Deferred[Any]:
        """Fires with a `fmqbus.transports.zeromq.group.SocketGroup`."""
        return execute(self._listen, factory)

    def peer_facts(self, transport: Any) -> PeerFacts:
        """Of nobody: what is known about peers comes with each message."""
        return PeerFacts("zmq")

    def reload(self) -> None:
        """Look again at who is let in. ZeroMQ does not take a new key of its own while it listens."""
        if self._admission is not None:
            self._admission.reload()

    def _listen(self, factory: Any) -> Any:
        # by now the reactor is chosen
        from fmqbus.transports.zeromq.group import SocketGroup

        protocol = factory.buildProtocol(None)
        group = SocketGroup(self._reactor, protocol, self._options, self._admission)
        group.open(places_of(protocol.factory.sockets, self._first_port, self._ports))
        return group


def _logins_by_password(logins: ILogins | None) -> ILogins:
    """Whether each single peer may show its password is looked at when it does."""
    if logins is None or "PLAIN" not in logins.offered(PeerFacts("zmq", is_local=True)):
        raise ConfigError("login=plain needs PLAIN in sasl.mechanisms, and users.file")
    return logins


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 0xFFFF:
        raise ConfigError(f"zmq: a port cannot be {text!r}")
    return int(text)


zmq = ZeroMQTransport()
