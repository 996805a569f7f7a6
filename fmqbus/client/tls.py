"""When is a TLS connection made? When the handshake is over, not before.

Twisted calls `connectionMade` as soon as TCP stands. A client that reconnects would then take each certificate that
it refuses for a connection made and lost again: it would try for ever at full speed and never say why.
"""

from __future__ import annotations

from typing import Any, NoReturn

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.error import NoProtocol, TimeoutError
from twisted.internet.interfaces import (
    IHandshakeListener,
    IProtocol,
    IProtocolFactory,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer


@implementer(IHandshakeListener)
class _Handshake(Protocol):
    """Holds the place of the real protocol until the handshake is over."""

    def __init__(self) -> None:
        self.completed: Deferred[None] = Deferred(lambda _: self.transport.abortConnection())  # type: ignore[union-attr]

    def handshakeCompleted(self) -> None:
        self.completed.callback(None)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if not self.completed.called:
            self.completed.errback(reason)


@implementer(IStreamClientEndpoint)
@attrs.frozen
class HandshakeEndpoint:
    """An endpoint around a TLS one, made by `twisted.internet.endpoints.wrapClientTLS`, that waits for the handshake.

    `connect` fails with what the handshake failed with, or with `twisted.internet.error.TimeoutError` after `seconds`.
    """

    tls: IStreamClientEndpoint
    clock: IReactorTime
    seconds: float = 30.0

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: IProtocolFactory) -> IProtocol:
        handshake: Any = await self.tls.connect(Factory.forProtocol(_Handshake))
        await handshake.completed.addTimeout(self.seconds, self.clock, _too_late)
        transport: Any = handshake.transport
        protocol = factory.buildProtocol(transport.getPeer())
        if protocol is None:
            raise NoProtocol
        transport.wrappedProtocol = protocol
        protocol.makeConnection(transport)
        return protocol


def _too_late(result: object, seconds: float) -> NoReturn:
    raise TimeoutError(f"no TLS handshake within {seconds:g} s")
