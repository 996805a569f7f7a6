"""The kinds of ZeroMQ sockets that a protocol of parts listens with: how is each set up, and how does it send?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import zmq
from txzmq import ZmqEndpoint, ZmqEndpointType
from zope.interface import implementer

from fmqbus.interfaces import IPartsProtocol, IPartsSocket
from fmqbus.model import Origin, PeerFacts, SocketKind
from fmqbus.transports.facts import internet_facts
from fmqbus.transports.preamble import PREAMBLE_SECONDS
from fmqbus.transports.zeromq.admission import Admission
from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.options import Options
from fmqbus.transports.zeromq.outboxes import Message, Outboxes
from fmqbus.transports.zeromq.reading import ReadingSocket

#: As for TCP listeners; the kernel cuts it to its own bound.
_BACKLOG = 1024
#: Hosts that are gone without a word are found out within two minutes; ZeroMQ's peers may be silent for ever.
_KEEPALIVE_IDLE_SECONDS, _KEEPALIVE_INTERVAL_SECONDS, _KEEPALIVE_COUNT = 60, 15, 4
#: Senders that are told apart; where there are more, their facts are found out anew.
_KNOWN_ORIGINS = 10_000
_UNKNOWN = Origin(PeerFacts("zmq"))
# For each message: ZeroMQ's enumeration costs half of what it costs to ask, and so does it to encode a name.
_DESCRIPTOR = int(zmq.SRCFD)


class NoLongerLetIn(Exception):
    """A message has come from a peer that would not be let in now."""


@implementer(IPartsSocket)
class PartsSocket(ReadingSocket):
    """A socket that is bound to one TCP port, and belongs to a protocol."""

    #: What ZeroMQ has for it beside what is set on all.
    own_options: ClassVar[Mapping[int, int]] = {}
    #: Why a message is thrown away of which ZeroMQ cannot tell the sender; empty if it is not.
    unknown_sender: ClassVar[str] = ""

    def __init__(
        self, context: Context, name: str, protocol: IPartsProtocol, admission: Admission | None = None
    ) -> None:
        """Without an admission, peers are let in who have proved nothing."""
        factory = protocol.factory
        limits = factory.listener.limits
        self.name = name
        #: As whom each connection was let in, by its descriptor, if messages have been read from it since somebody last
        #: asked.
        self.heard: dict[int, str] = {}
        self._protocol = protocol
        self._admission = admission
        self._origins: dict[tuple[object, ...], Origin] = {}
        # what txZMQ's constructor sets
        self.highWaterMark = limits.socket_messages
        self._linger_milliseconds = int(limits.linger_seconds * 1000)
        self._most_part_octets = limits.body_octets
        super().__init__(context, factory.turns, limits.message_parts, limits.body_octets + limits.control_octets)

    def __repr__(self) -> str:
        return f"<ZeroMQ socket {self.name}>"

    def bind(self, options: Options, port: int) -> int:
        """Listen, at any free port if it is 0; returns the port. Raises `zmq.ZMQError`."""
        settings = {
            zmq.LINGER: self._linger_milliseconds,
            zmq.MAXMSGSIZE: self._most_part_octets,
            zmq.BACKLOG: _BACKLOG,
            zmq.HANDSHAKE_IVL: int(PREAMBLE_SECONDS * 1000),
            zmq.TCP_KEEPALIVE: 1,
            zmq.TCP_KEEPALIVE_IDLE: _KEEPALIVE_IDLE_SECONDS,
            zmq.TCP_KEEPALIVE_INTVL: _KEEPALIVE_INTERVAL_SECONDS,
            zmq.TCP_KEEPALIVE_CNT: _KEEPALIVE_COUNT,
            **self.own_options,
            **options.settings,
        }
        for option, value in settings.items():
            self.socket.set(option, value)
        for network in options.allowed:
            self.socket.set(zmq.TCP_ACCEPT_FILTER, network.encode())
        host = f"[{options.interface}]" if ":" in options.interface else options.interface
        self.addEndpoints([ZmqEndpoint(ZmqEndpointType.bind, f"tcp://{host}:{port}")])
        return int(self.socket.get(zmq.LAST_ENDPOINT).rstrip(b"\0").rpartition(b":")[2])

    def send(self, peer: bytes, parts: Sequence[bytes]) -> bool:
        raise NotImplementedError

    def forget(self, peer: bytes) -> Sequence[Sequence[bytes]]:
        """Nothing waits where no outboxes are."""
        return ()

    def message_read(self, last: zmq.Frame, parts: list[bytes], excess: str) -> None:
        peer = self._peer(parts)
        try:
            origin = self._origin(last)
        except zmq.ZMQError:
            origin, excess = _UNKNOWN, excess or self.unknown_sender
        except NoLongerLetIn:
            origin, excess = _UNKNOWN, "revoked"
        if excess:
            self._protocol.discarded(self, peer, origin, excess)
        else:
            self._protocol.arrived(self, peer, parts, origin)

    def turn_over(self) -> None:
        self._protocol.turn_over()

    def _peer(self, parts: list[bytes]) -> bytes:
        """Take the sender's identity, if there is one, from a message."""
        return b""

    def _origin(self, frame: zmq.Frame) -> Origin:
        """Raises `zmq.ZMQError` if ZeroMQ cannot tell who sent a message, and `NoLongerLetIn`."""
        # Not kept by the descriptor: by now another connection may have it.
        descriptor = int(frame.get(_DESCRIPTOR))
        user_id = "" if self._admission is None else str(frame.get(b"User-Id"))
        self.heard[descriptor] = user_id
        said = user_id, frame.get(b"Peer-Address"), frame.get(b"Socket-Type")
        origin = self._origins.get(said)
        if origin is None:
            if len(self._origins) >= _KNOWN_ORIGINS:
                self._origins.clear()
            origin = self._origins[said] = self._new_origin(*map(str, said))
        return origin

    def _new_origin(self, user_id: str, address: str, socket_type: str) -> Origin:
        facts = internet_facts(address, None)
        if self._admission is None:
            return Origin(facts, socket_type.upper())
        proved = self._admission.proved(user_id, facts)
        if proved is None:
            raise NoLongerLetIn
        return Origin(proved, socket_type.upper())

    def forget_origins(self) -> None:
        """What is proved may be something else from now on: look at everybody anew."""
        self._origins.clear()


class RouterSocket(PartsSocket):
    """ROUTER: the first part of each message is the peer's identity."""

    socketType = zmq.ROUTER
    begins_with_identity = True
    # Where there is no such peer, that is to be told. A peer that returns under its identity takes it over: its old
    # connection may seem to stand for a long time yet.
    own_options: ClassVar[Mapping[int, int]] = {zmq.ROUTER_MANDATORY: 1, zmq.ROUTER_HANDOVER: 1}
    # A peer whose ZMTP is older than version 3: nobody could say what it may do.
    unknown_sender = "zmtp"

    def __init__(
        self, context: Context, name: str, protocol: IPartsProtocol, admission: Admission | None = None
    ) -> None:
        super().__init__(context, name, protocol, admission)
        self._outboxes = Outboxes(
            self._reactor,
            protocol.factory.turns,
            protocol.factory.listener.limits.outbox_octets,
            self.send_parts,
            lambda peer: self.tell(protocol.link_clear, self, peer),
            lambda peer, unsent: self.tell(protocol.peer_lost, self, peer, _without_peer(unsent)),
        )

    def send(self, peer: bytes, parts: Sequence[bytes]) -> bool:
        message = (peer, *parts)
        if peer not in self._outboxes and self.send_parts(message):
            return True
        self._outboxes.put(peer, message)
        return False

    def forget(self, peer: bytes) -> Sequence[Sequence[bytes]]:
        return _without_peer(self._outboxes.forget(peer))

    def shutdown(self) -> None:
        self._outboxes.close()
        super().shutdown()

    def _peer(self, parts: list[bytes]) -> bytes:
        return parts.pop(0)


def _without_peer(messages: Sequence[Message]) -> Sequence[Sequence[bytes]]:
    return [parts for _, *parts in messages]


class XPubSocket(PartsSocket):
    """XPUB: ZeroMQ itself keeps who wants what. What a subscriber no longer wants since it has gone, it tells without
    the sender."""

    socketType = zmq.XPUB

    def send(self, peer: bytes, parts: Sequence[bytes]) -> bool:
        return self.send_parts(parts)


KINDS: Mapping[SocketKind, type[PartsSocket]] = {SocketKind.ROUTER: RouterSocket, SocketKind.XPUB: XPubSocket}
