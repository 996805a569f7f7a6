"""How do units travel on a connection that a client has made? As WebSocket messages, or behind their lengths.

A carrier gets octets and gives units, and the other way round. No I/O and no clock; whose it is, it tells.
"""

from __future__ import annotations

from typing import Any
from typing import Protocol as Contract

import attrs
from autobahn.twisted.websocket import WebSocketClientFactory, WebSocketClientProtocol
from autobahn.websocket.types import ConnectingRequest
from twisted.internet.interfaces import IStreamClientEndpoint

from fmqbus.client.url import UMQ_PATH, url_of
from fmqbus.errors import FramingLost
from fmqbus.transports.length_prefixed import UnitDecoder, encode_unit
from fmqbus.transports.websocket.side import Side

#: A longer head of an answer to the opening handshake is refused.
_HEAD_OCTETS = 16 * 1024
_NORMAL = 1000
#: The protocol, and the name of the subprotocol.
_UMQ = "umq"


class CarrierOwner(Contract):
    """What a carrier tells, and to whom."""

    def write(self, chunks: list[bytes]) -> None:
        """Send these octets."""

    def carrier_open(self) -> None:
        """Units may come and go from now on."""

    def unit_arrived(self, is_binary: bool, octets: bytes) -> None:
        """A unit is complete."""

    def finished(self, complaint: str) -> None:
        """No units come any more; perhaps told again. The complaint is for people, and empty if there is none."""


class Carrier(Contract):
    """One connection's way for units."""

    def begin(self) -> None:
        """Write what comes first."""

    def receive(self, data: bytes) -> None:
        """Take octets that have come."""

    def send(self, is_binary: bool, octets: bytes) -> None:
        """Send a unit."""

    def close(self) -> None:
        """Say goodbye, where there is a word for it."""


class MakeCarrier(Contract):
    """A way that connections have their carriers."""

    def __call__(self, owner: CarrierOwner) -> Carrier:
        """One for a new connection."""


@attrs.frozen
class WebSockets:
    """WebSocket at this address."""

    #: As in the URL; goes into the request.
    host: str
    port: int
    resource: str
    subprotocol: str
    #: Of one unit.
    most_octets: int
    clock: Any
    factory: Any = attrs.field(init=False)

    @factory.default
    def _one_for_all(self) -> WebSocketClientFactory:
        return WebSocketClientFactory(protocols=[self.subprotocol], reactor=self.clock)

    def __call__(self, owner: CarrierOwner) -> Carrier:
        return _WebSocket(owner, self)


@attrs.frozen
class Lengths:
    """Each unit behind its kind and length, see `fmqbus.transports.length_prefixed`."""

    #: Of one unit.
    most_octets: int

    def __call__(self, owner: CarrierOwner) -> Carrier:
        return _Lengths(owner, self.most_octets)


def way_to(
    target: str | IStreamClientEndpoint, reactor: Any, most_octets: int
) -> tuple[IStreamClientEndpoint, MakeCarrier]:
    """Return the endpoint of a bus that speaks UMQ, and how units of at most so many octets travel there: where an
    endpoint is given, by WebSocket. Raises `InvalidURL`."""
    if not isinstance(target, str):
        return target, WebSockets("localhost", 80, UMQ_PATH, _UMQ, most_octets, reactor)
    url = url_of(target, _UMQ)
    if not url.is_websocket:
        return url.endpoint(reactor), Lengths(most_octets)
    host = f"[{url.host}]" if ":" in url.host else url.host or "localhost"
    return url.endpoint(reactor), WebSockets(host, url.port, url.resource, _UMQ, most_octets, reactor)


class _Lengths:
    def __init__(self, owner: CarrierOwner, most_octets: int) -> None:
        self._owner = owner
        self._decoder = UnitDecoder(most_octets)

    def begin(self) -> None:
        self._owner.carrier_open()

    def receive(self, data: bytes) -> None:
        try:
            for is_binary, unit in self._decoder.feed(data):
                self._owner.unit_arrived(is_binary, unit)
        except FramingLost as error:
            self._owner.finished(str(error))

    def send(self, is_binary: bool, octets: bytes) -> None:
        self._owner.write(list(encode_unit(is_binary, octets)))

    def close(self) -> None:
        pass


class _WebSocket(Side, WebSocketClientProtocol):  # type: ignore[misc]  # autobahn declares two of its own twice
    """The autobahn of one connection. Its names are autobahn's."""

    version = 18
    acceptMaskedServerFrames = False
    maskClientFrames = True
    serverConnectionDropTimeout = 0
    perMessageCompressionOffers = ()

    def __init__(self, owner: CarrierOwner, at: WebSockets) -> None:
        super().__init__(at.most_octets)
        self.factory = at.factory
        self._owner = owner
        self._at = at

    # what the owner asks, see `Carrier`

    def begin(self) -> None:
        self.connectionMade()

    def receive(self, data: bytes) -> None:
        try:
            self._dataReceived(data)
        except UnicodeDecodeError:
            self.failHandshake("the answer to the handshake is no text")
        if self.state == self.STATE_CONNECTING and len(self.data) > _HEAD_OCTETS:
            self.failHandshake("the answer to the handshake has no end")

    def send(self, is_binary: bool, octets: bytes) -> None:
        if self.state == self.STATE_OPEN:
            self.sendMessage(octets, is_binary)

    def close(self) -> None:
        self.sendCloseFrame(_NORMAL)

    # the handshakes

    def startHandshake(self) -> None:
        at = self._at
        self._actuallyStartHandshake(ConnectingRequest(at.host, at.port, at.resource, protocols=[at.subprotocol]))

    def perMessageCompressionAccept(self, response: object) -> None:
        """We have offered none."""

    def onOpen(self) -> None:
        self._owner.carrier_open()

    def failHandshake(self, reason: str) -> None:
        self.state = self.STATE_CLOSED
        self._owner.finished(reason)

    def sendCloseFrame(self, code: int | None = None, reasonUtf8: bytes | None = None, isReply: bool = False) -> None:
        if self.state != self.STATE_OPEN:
            return
        super().sendCloseFrame(code, reasonUtf8, isReply)
        self.assembled = bytearray()
        if isReply or self.failedByMe:
            self._owner.finished((reasonUtf8 or b"").decode())
