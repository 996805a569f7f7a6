"""What a server leaves to autobahn: the opening handshake, every frame that is not plain, and the closing handshake.
(RFC 6455; RFC 7692)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Protocol
from zlib import MAX_WBITS

from autobahn.twisted.websocket import WebSocketServerFactory, WebSocketServerProtocol
from autobahn.util import encode_truncate
from autobahn.websocket.compress import PerMessageDeflateOffer, PerMessageDeflateOfferAccept
from autobahn.websocket.types import ConnectionDeny, ConnectionRequest

from fmqbus.transports.websocket.deflate import Inflater
from fmqbus.transports.websocket.origins import is_welcome
from fmqbus.transports.websocket.settings import WebSocketSettings
from fmqbus.transports.websocket.side import REASON_OCTETS, Side

#: What autobahn keeps when the handshake is done and never looks at again: a head can be 16 KiB, and a link lives long.
_DONE_WITH = (
    "http_request_data",
    "http_status_line",
    "http_headers",
    "http_request_uri",
    "http_request_path",
    "http_request_params",
    "http_request_host",
    "http_response_data",
    "websocket_protocols",
    "websocket_origin",
    "websocket_extensions",
    "_wskey",
    "_transport_details",
    # of its own `sendData`, which is never called here: an empty deque has room for 64
    "send_queue",
)


class Owner(Protocol):
    """What an engine asks of the link that it serves."""

    is_full: bool

    def write(self, chunks: Sequence[bytes]) -> None:
        """Send these octets."""

    def handshake_done(self) -> None:
        """Frames may come and go from now on."""

    def unit_arrived(self, is_binary: bool, octets: bytes) -> None:
        """A message is complete."""

    def close_sent(self) -> None:
        """No message may follow: a Close is on its way, from us first or in return."""

    def finished(self, complaint: str) -> None:
        """There is nothing more to say, nor to hear. The complaint is for people, and empty if there is none."""


class Engine(Side, WebSocketServerProtocol):  # type: ignore[misc]  # autobahn declares two of its own twice
    """The autobahn of one link. Its names are autobahn's."""

    versions = (13,)
    # The pages beside it answer what is no handshake.
    webStatus = serveFlashSocketPolicy = False
    requireMaskedClientFrames = True
    maskServerFrames = False
    # Origins are judged by `onConnect`, connections counted by the listener, and proxies told from the transport.
    allowedOriginsPatterns = (re.compile(""),)
    maxConnections = 0
    trustXForwardedFor = 0

    def __init__(
        self, owner: Owner, factory: WebSocketServerFactory, settings: WebSocketSettings, most_octets: int
    ) -> None:
        super().__init__(most_octets)
        self.factory = factory
        #: Of messages that we compress; 0 if we may not.
        self.window_bits = 0
        self._owner = owner
        self._settings = settings
        self._unanswered: bytes | None = None
        self.connectionMade()

    @property
    def is_opening(self) -> bool:
        """No handshake yet."""
        return bool(self.state == self.STATE_CONNECTING)

    @property
    def is_between_messages(self) -> bool:
        """A data frame that comes now begins a message."""
        return self.state == self.STATE_OPEN and not self.inside_message

    def say_goodbye(self, code: int, reason: str) -> None:
        """Begin the closing handshake. The reason is cut to what a Close has room for."""
        self.sendCloseFrame(code, encode_truncate(reason, REASON_OCTETS))

    def room_again(self) -> None:
        """The link is full no more."""
        if self._unanswered is not None:
            self.sendPong(self._unanswered)
            self._unanswered = None

    def let_go(self) -> None:
        """The link has gone: leave no circle. What is asked for when it is closed is this engine itself."""
        del self._owner, self.is_closed

    # the opening handshake

    def onConnect(self, request: ConnectionRequest) -> str | None:
        origin = request.headers.get("origin")
        if not is_welcome(origin, request.headers["host"], self._settings.origins):
            raise ConnectionDeny(ConnectionDeny.FORBIDDEN, f"origin {origin!r} is not listed")
        return next((name for name in self.factory.protocols if name in request.protocols), None)

    def _parseExtensionsHeader(self, header: str, removeQuotes: bool = True) -> list[Any]:
        """Declines offers that have not what they should: for those autobahn refuses the whole handshake (RFC 7692,
        section 7.1)."""
        offers = super()._parseExtensionsHeader(header, removeQuotes)
        return [(name, offer) for name, offer in offers if name == Inflater.EXTENSION_NAME and _is_sound(offer)]

    def perMessageCompressionAccept(self, offers: Sequence[Any]) -> PerMessageDeflateOfferAccept | None:
        if not self._settings.compression:
            return None
        for offer in offers:
            if isinstance(offer, PerMessageDeflateOffer):
                self.window_bits = offer.request_max_window_bits or MAX_WBITS
                return PerMessageDeflateOfferAccept(offer, request_no_context_takeover=True, no_context_takeover=True)
        return None

    def onOpen(self) -> None:
        if self.window_bits:
            self._perMessageCompress = Inflater()  # type: ignore[assignment]  # declared by its first value only
        for name in _DONE_WITH:
            vars(self).pop(name, None)
        self._owner.handshake_done()

    def failHandshake(self, reason: str, code: int = 400, responseHeaders: Any = None) -> None:
        body = f"{reason}\n".encode()
        headers = [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", len(body)),
            ("Connection", "close"),
            *(responseHeaders or ()),
        ]
        lines = [f"HTTP/1.1 {code} {HTTPStatus(code).phrase}", *(f"{name}: {value}" for name, value in headers)]
        self.sendData("\r\n".join([*lines, "", ""]).encode() + body)
        self._owner.finished(reason)

    # control frames

    def onPing(self, payload: bytes) -> None:
        """A client that does not read its pongs gets the latest only (RFC 6455, 5.5.3)."""
        if self._owner.is_full:
            self._unanswered = payload
        else:
            self.sendPong(payload)

    def sendCloseFrame(self, code: int | None = None, reasonUtf8: bytes | None = None, isReply: bool = False) -> None:
        if self.state != self.STATE_OPEN:
            return
        super().sendCloseFrame(code, reasonUtf8, isReply)
        self.assembled = bytearray()
        self._owner.close_sent()
        if self.failedByMe:
            # nothing that comes is to be looked at any more, not even a Close (7.1.7)
            self._owner.finished((reasonUtf8 or b"").decode())


def _is_sound(offer: Any) -> bool:
    try:
        PerMessageDeflateOffer.parse(offer)
    except Exception:  # autobahn has no kind of its own for it
        return False
    return True
