"""One connection: one request without a body, one answer, and the end.

Twisted reads the request. What it leaves open is closed here: a connection counts as every other of its listener does,
has so much time and so many octets, and what one read asks for beyond the first request is not looked at. (RFC 9112)
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from io import BytesIO
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, Request
from zope.interface import implementer

from fmqbus.interfaces import IConnection, IListener
from fmqbus.model import PeerFacts
from fmqbus.transports.preamble import WaitingRoom

#: What one connection may send: a request, and no upload. Browsers send all cookies of a host to each of its ports.
REQUEST_OCTETS = 16 * 1024

#: Its name has changed between the Pythons.
_CONTENT_TOO_LARGE = HTTPStatus(413)

#: Answers a request of a peer of whom this is known.
Answer = Callable[[Any, PeerFacts], None]

_log = Logger()


class _Request(Request):
    """Is answered by the channel's owner."""

    def gotLength(self, length: int | None) -> None:
        """There is no body; Twisted would open a file for what may be large."""
        self.content = BytesIO()

    channel: _Channel

    def process(self) -> None:
        self.channel.is_answered = True
        self.channel.answer(self)


class _Channel(HTTPChannel):
    """Reads one request. The names are Twisted's."""

    requestFactory = _Request
    totalHeadersSize = REQUEST_OCTETS
    is_answered = False

    def __init__(self, answer: Callable[[Any], None]) -> None:
        super().__init__()
        self.answer = answer
        #: Fires when the connection has gone.
        self.gone: Deferred[None] = Deferred()

    def checkPersistence(self, request: Request, version: bytes) -> bool:
        request.setHeader(b"connection", b"close")
        return False

    def allHeadersReceived(self) -> None:
        if self.length == 0:
            super().allHeadersReceived()
        else:
            self.refuse(_CONTENT_TOO_LARGE)

    def rawDataReceived(self, data: bytes) -> None:
        """What comes behind the first request's head: nothing that would be looked at."""

    def refuse(self, status: HTTPStatus) -> None:
        """Answer without having read the request to its end."""
        self.is_answered = True
        head = f"HTTP/1.1 {status} {status.phrase}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        transport: Any = self.transport
        transport.write(head.encode())
        self.loseConnection()


@implementer(IConnection)
class Connection(Protocol):
    """See above."""

    octets_received = 0
    is_kept_waiting = False
    _channel: _Channel | None = None
    _facts: PeerFacts

    def __init__(self, listener: IListener, room: WaitingRoom, answer: Answer) -> None:
        self._listener = listener
        self._room = room
        self._answer = answer

    def connectionMade(self) -> None:
        self._facts = self._listener.peer_facts(self.transport)
        if not self._listener.opened(self, self._facts):
            self.abort("full")
            return
        self._room.enter(self.transport)
        self._channel = _Channel(lambda request: self._answer(request, self._facts))
        self._channel.makeConnection(self.transport)

    def dataReceived(self, data: bytes) -> None:
        self.octets_received += len(data)
        channel = self._channel
        if channel is None:
            return
        if self.octets_received > REQUEST_OCTETS:
            if channel.is_answered:
                self.abort("octets")
            else:
                channel.refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return
        try:
            channel.dataReceived(data)
        except Exception as error:
            # such as a length of five thousand digits, of which Python makes no number
            _log.info("{peer} is cut off: its request cannot be read: {error}", peer=self._facts.address, error=error)
            self.abort("unreadable")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.connectionLost(reason)
            channel.gone.callback(None)
            self._room.leave(self.transport)
            self._listener.closed(self, self._facts)

    def lose(self, reason: str) -> None:
        transport: Any = self.transport
        transport.loseConnection()

    def abort(self, reason: str) -> None:
        transport: Any = self.transport
        transport.abortConnection()


class ConnectionFactory(Factory):
    """Makes the connections of one listener. Those that take too long together, or too long each, are cut off."""

    noisy = False

    def __init__(self, listener: IListener, answer: Answer, closed: Callable[[], None] = lambda: None) -> None:
        """`closed` is called when nobody comes any more."""
        self._listener = listener
        self._answer = answer
        self._closed = closed
        self._room = WaitingRoom(listener.clock, listener.limits.handshake_seconds)

    def buildProtocol(self, addr: IAddress | None) -> Connection:
        return Connection(self._listener, self._room, self._answer)

    def stopFactory(self) -> None:
        self._room.close()
        self._closed()
