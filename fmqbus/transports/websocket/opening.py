"""What comes before a WebSocket: one request of HTTP, by which it is seen what the client wants.

A request to upgrade, at the path of the WebSocket, begins the protocol; everything else is ordinary HTTP, and is
answered by the pages beside it. Until the protocol begins, and for all of HTTP, a connection is in the waiting room:
its time and its octets are bounded there, and so is the number of such connections.
"""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.server import Site

from fmqbus.transports.preamble import Preamble, PreambleFactory, WaitingRoom
from fmqbus.transports.websocket.link import WebSocketLink

#: A longer head is left to HTTP, which refuses it.
HEAD_OCTETS = 16 * 1024
#: What one connection may send that is no WebSocket: a request, and no upload.
HTTP_OCTETS = 64 * 1024

_END_OF_HEAD = b"\r\n\r\n"
#: Of a request that a proxy has passed on; whoever is behind it is elsewhere.
_OF_PROXIES = (b"forwarded:", b"x-forwarded-for:", b"x-real-ip:", b"via:")


class Opening(Preamble):
    """One connection, until it is a WebSocket."""

    _successor: WebSocketLink

    def __init__(self, room: WaitingRoom, successor: WebSocketLink, site: Site, path: bytes) -> None:
        super().__init__(room, successor)
        self._site = site
        self._path = path
        self._received = 0
        self._unread = b""
        self._http: Protocol | None = None

    def dataReceived(self, data: bytes) -> None:
        self._received += len(data)
        if self._http is not None:
            self._pass_on(self._http, data)
            return
        self._unread += data
        head, end, rest = self._unread.partition(_END_OF_HEAD)
        if end and len(head) <= HEAD_OCTETS and _is_upgrade(head, self._path):
            self._upgrade(head + end, rest)
        elif end or self._received > HEAD_OCTETS:
            self._http = self._site.buildProtocol(None)
            self._http.makeConnection(self.transport)
            self._pass_on(self._http, self._unread)

    def connectionLost(self, reason: Failure | None = None) -> None:
        super().connectionLost(reason)
        if self._http is not None:
            self._http.connectionLost(reason or connectionDone)

    def _upgrade(self, head: bytes, rest: bytes) -> None:
        self._successor.is_proxied = any(line.lower().startswith(_OF_PROXIES) for line in head.split(b"\r\n"))
        self.protocol_begins()
        self._successor.dataReceived(head)
        if rest:
            self._successor.dataReceived(rest)

    def _pass_on(self, http: Protocol, data: bytes) -> None:
        if self._received > HTTP_OCTETS:
            cast(Any, self.transport).abortConnection()
        else:
            http.dataReceived(data)


def _is_upgrade(head: bytes, path: bytes) -> bool:
    request, *lines = head.split(b"\r\n")
    _, _, target = request.partition(b" ")
    return target.partition(b" ")[0].partition(b"?")[0] == path and any(
        line.lower().startswith(b"upgrade:") and b"websocket" in line.lower() for line in lines
    )


class OpeningFactory(PreambleFactory):
    """Begins the links of the wrapped factory where clients ask for them."""

    def __init__(self, wrapped: Any, room: WaitingRoom, site: Site, path: bytes) -> None:
        super().__init__(wrapped, room)
        self._site = site
        self._path = path

    def preamble(self, successor: Any, address: Any) -> Opening:
        return Opening(self._room, successor, self._site, self._path)
