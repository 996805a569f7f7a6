"""When is a MicroMsg2 connection made? When both sides have agreed how to speak, not before. (MicroMsg2, Handshake)

A client that reconnects would otherwise take each server that refuses it for a connection made and lost again: it would
try for ever at full speed and never say why. `fmqbus.client.tls` has the same for TLS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import NoProtocol, TimeoutError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IReactorTime, IStreamClientEndpoint, ITransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.errors import PeerError, Refused
from fmqbus.protocols.micromsg2.connection import Connection, Role
from fmqbus.protocols.micromsg2.events import ErrorReceived, Event, Failed, Opened
from fmqbus.protocols.micromsg2.negotiation import Offer


class _Opening(Protocol):
    """Shakes hands, and from then on passes everything on to the real protocol."""

    transport: ITransport

    def __init__(self, offer: Offer) -> None:
        self.connection = Connection(Role.CLIENT, offer)
        #: Fires with what came right behind the handshake.
        self.opened: Deferred[Sequence[Event]] = Deferred(lambda _: self._abort())
        self._real: IProtocol | None = None

    def pass_on_to(self, protocol: IProtocol) -> None:
        """The handshake is over."""
        self._real = protocol
        protocol.makeConnection(self.transport)

    def connectionMade(self) -> None:
        self._write()

    def dataReceived(self, data: bytes) -> None:
        if self._real is not None:
            self._real.dataReceived(data)
            return
        events = list(self.connection.receive(data))
        self._write()
        if events and not self.opened.called:
            self._conclude(*events)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._real is not None:
            self._real.connectionLost(reason)
        elif not self.opened.called:
            self.opened.errback(reason)

    def _conclude(self, event: Event, *others: Event) -> None:
        if isinstance(event, Opened):
            self.opened.callback(others)
            return
        self.transport.loseConnection()
        if isinstance(event, ErrorReceived):
            self.opened.errback(Refused(event.text))
        elif isinstance(event, Failed):
            self.opened.errback(PeerError(event.text, event.reason))

    def _write(self) -> None:
        self.transport.writeSequence(self.connection.take_output())

    def _abort(self) -> None:
        self.transport.abortConnection()  # type: ignore[attr-defined]


@implementer(IStreamClientEndpoint)
@attrs.frozen
class OpeningEndpoint:
    """An endpoint around another one, that shakes hands before a connection counts as made.

    The protocols that it connects are told by `begin` with the conversation and what came right behind the handshake.
    `connect` fails with `Refused` and the server's own text, with `PeerError` where we cannot do what the server
    requires, and with `twisted.internet.error.TimeoutError`.
    """

    endpoint: IStreamClientEndpoint
    offer: Offer
    clock: IReactorTime
    #: Called with each refusal.
    refused: Callable[[Exception], object]

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: IProtocolFactory) -> IProtocol:
        opening: Any = await self.endpoint.connect(Factory.forProtocol(partial(_Opening, self.offer)))
        try:
            events = await opening.opened.addTimeout(self.offer.limits.handshake_seconds, self.clock, _too_late)
        except (Refused, PeerError) as error:
            self.refused(error)
            raise
        protocol: Any = factory.buildProtocol(opening.transport.getPeer())
        if protocol is None:
            raise NoProtocol
        protocol.begin(opening.connection, events)
        opening.pass_on_to(protocol)
        return protocol  # type: ignore[no-any-return]


def _too_late(result: object, seconds: float) -> NoReturn:
    raise TimeoutError(f"no MicroMsg2 handshake within {seconds:g} s")
