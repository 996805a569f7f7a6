"""What of autobahn is alike on both sides of a WebSocket: its limits, its silence, and how messages come together.

Autobahn's defaults have no limits; whatever it can be told is told here. It gets no socket and no timer: octets, time
and memory are its owner's. (RFC 6455)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: A control frame has room for them behind the code (5.5.1).
REASON_OCTETS = 123


class _Silence:
    """Autobahn tells the log of every frame. What people should know, its owner tells them."""

    def _say_nothing(self, *words: object, **values: object) -> None:
        pass

    debug = info = warn = error = failure = _say_nothing


class Side:
    """What stands before autobahn's protocol of either side. Its names are autobahn's."""

    log = _Silence()

    # Otherwise each connection would have a copy of its factory's options.
    CONFIG_ATTRS: Sequence[str] = ()
    logOctets = logFrames = trackTimings = False
    applyMask = True
    utf8validateIncoming = True
    # Fail in words, by a Close with its code, and not by hanging up.
    failByDrop = False
    echoCloseCodeReason = True
    autoFragmentSize = 0
    tcpNoDelay = True
    # Timers are the owner's.
    openHandshakeTimeout = closeHandshakeTimeout = 0
    autoPingInterval = autoPingTimeout = 0

    STATE_OPEN: int
    state: int
    message_is_binary: bool
    _owner: Any

    def __init__(self, most_octets: int) -> None:
        """`most_octets` of one message, inflated, and so of one frame."""
        super().__init__()
        self.maxMessagePayloadSize = self.maxFramePayloadSize = most_octets
        #: Of the message that is under way.
        self.assembled = bytearray()

    # messages

    def onMessageBegin(self, isBinary: bool) -> None:
        super().onMessageBegin(isBinary)  # type: ignore[misc]  # autobahn's
        self.assembled = bytearray()

    def onMessageFrameData(self, payload: bytes) -> None:
        if self.state == self.STATE_OPEN:
            self.assembled += payload

    def onMessageFrameEnd(self) -> None:
        """Autobahn would keep each frame as an object of its own; empty ones would cost the other side nothing."""

    def onMessageEnd(self) -> None:
        octets, self.assembled = bytes(self.assembled), bytearray()
        if self.state == self.STATE_OPEN:
            self._owner.unit_arrived(self.message_is_binary, octets)

    # in place of a transport

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        self._owner.write([data])

    def unregisterProducer(self) -> None:
        """The owner is the producer."""

    def _closeConnection(self, abort: bool = False) -> None:
        self._owner.finished("")
