"""When is a connection of MicroMsg2 or UMQ made? When both sides have greeted and agreed how to speak, not before.

A client that reconnects would otherwise take each server that refuses it for a connection made and lost again: it would
try for ever at full speed and never say why. `fmqbus.client.tls` has the same for TLS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn
from typing import Protocol as Contract

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import NoProtocol, TimeoutError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IReactorTime, IStreamClientEndpoint, ITransport
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.errors import PeerError, Refused


class Conversation(Contract):
    """What is said on one connection, by the one who has connected. It has begun; no I/O."""

    def receive(self, data: bytes) -> Iterable[Any]:
        """Take octets, and tell what they mean. The first event tells how the greeting ended."""

    def take_output(self) -> Iterable[bytes]:
        """What is to be written."""


class _Opening(Protocol):
    """Shakes hands, and from then on passes everything on to the real protocol."""

    transport: ITransport

    def __init__(self, conversation: Conversation, check: Callable[[Any], None]) -> None:
        self.conversation = conversation
        self._check = check
        #: Fires with what came right behind the handshake.
        self.opened: Deferred[Sequence[Any]] = Deferred(lambda _: self._abort())
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
        events = list(self.conversation.receive(data))
        self._write()
        if events and not self.opened.called:
            self._conclude(*events)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._real is not None:
            self._real.connectionLost(reason)
        elif not self.opened.called:
            self.opened.errback(reason)

    def _conclude(self, event: Any, *others: Any) -> None:
        try:
            self._check(event)
        except (Refused, PeerError):
            self.transport.loseConnection()
            self.opened.errback()
        else:
            self.opened.callback(others)

    def _write(self) -> None:
        self.transport.writeSequence(self.conversation.take_output())

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
    #: Makes the conversation of a connection.
    begin: Callable[[], Conversation]
    #: Is given the first event; raises `Refused` or `PeerError` unless it tells that all is agreed.
    check: Callable[[Any], None]
    seconds: float
    clock: IReactorTime
    #: Called with each refusal.
    refused: Callable[[Exception], object]
    #: Makes the protocol that has the connection from the handshake on until its `done` fires, such as for a login.
    prelude: Callable[[Any], Any] | None = None

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: IProtocolFactory) -> IProtocol:
        opening: Any = await self.endpoint.connect(Factory.forProtocol(lambda: _Opening(self.begin(), self.check)))
        try:
            events = await opening.opened.addTimeout(self.seconds, self.clock, _too_late)
            if self.prelude is not None:
                prelude = self.prelude(opening.conversation)
                opening.pass_on_to(prelude)
                await prelude.done.addTimeout(self.seconds, self.clock, _too_late)
        except (Refused, PeerError) as error:
            self.refused(error)
            raise
        protocol: Any = factory.buildProtocol(opening.transport.getPeer())
        if protocol is None:
            raise NoProtocol
        protocol.begin(opening.conversation, events)
        opening.pass_on_to(protocol)
        return protocol  # type: ignore[no-any-return]


def _too_late(result: object, seconds: float) -> NoReturn:
    raise TimeoutError(f"no handshake within {seconds:g} s")
