"""How does a client or a worker reach a broker of parts? By a DEALER socket, which connects again and again by itself.

Nobody tells when there is a connection: that shows by what the broker says. Who has to know that one has gone can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import zmq
from twisted.internet.defer import Deferred, succeed
from txzmq import ZmqEndpoint, ZmqEndpointType

from fmqbus.limits import Limits
from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.outboxes import Outboxes
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport
from fmqbus.transports.zeromq.reading import ReadingSocket
from fmqbus.transports.zeromq.reentry import Reentry
from fmqbus.turns import Turns

#: The one at the other end, in the outbox.
_BROKER = b""
_LONGEST_RECONNECT_MILLISECONDS = 5_000


class Dealer(ReadingSocket):
    """One socket, connected to one place."""

    socketType = zmq.DEALER
    reconnectIntervalMax = _LONGEST_RECONNECT_MILLISECONDS

    def __init__(
        self,
        reactor: Any,
        address: str,
        identity: bytes,
        arrived: Callable[[Sequence[bytes]], None],
        limits: Limits,
        link_clear: Callable[[], None] = lambda: None,
        passport: Passport = NO_PASSPORT,
        lost: Callable[[], None] | None = None,
        *,
        context: Context | None = None,
    ) -> None:
        """Connect to ``tcp://HOST:PORT``. `arrived` is called with the parts of each message, `link_clear` when what
        had to wait has left. `passport` is what the broker lets us in with. `lost` is called when a connection has
        gone; what ZeroMQ had taken may be lost with it, and it connects again by itself. A `context` is that of several
        sockets, and closed by whoever has made it. Raises `zmq.ZMQError` for an address that is none."""
        self._arrived = arrived
        self._address = address
        self._is_alone = context is None
        self._context = Context(reactor) if context is None else context
        self.highWaterMark = limits.socket_messages
        most_octets = limits.body_octets + limits.control_octets
        turns = Turns(reactor)
        super().__init__(self._context, turns, limits.message_parts, most_octets)
        self._outboxes = Outboxes(
            reactor,
            turns,
            limits.outbox_octets,
            self.send_parts,
            lambda _: self.tell(link_clear),
            lambda _, messages: None,
        )
        self.socket.set(zmq.IDENTITY, identity)
        self.socket.set(zmq.LINGER, int(limits.linger_seconds * 1000))
        self.socket.set(zmq.MAXMSGSIZE, limits.body_octets)
        passport.give(self.socket)
        self._reentry = Reentry(self._context, self, turns, self._connect_anew, lost)
        try:
            self.addEndpoints([ZmqEndpoint(ZmqEndpointType.connect, address)])
        except zmq.ZMQError:
            self.close()
            raise
        self.resume_reading()

    def __repr__(self) -> str:
        return f"<ZeroMQ dealer to {self._address}>"

    def send(self, parts: Sequence[bytes]) -> bool:
        """As `fmqbus.interfaces.IPartsSocket.send`; what is sent while there is no connection waits in ZeroMQ, and then
        here. Raises `Detached` once it is closed."""
        if _BROKER not in self._outboxes and self.send_parts(parts):
            return True
        self._outboxes.put(_BROKER, parts)
        return False

    def close(self) -> Deferred[None]:
        """Close it. Fires when what ZeroMQ has taken has left, or `Limits.linger_seconds` are over; in a context of
        several, at once, since for that the context waits in the end."""
        if self._is_alone:
            return self._context.close()
        self.shutdown()
        return succeed(None)

    def _connect_anew(self) -> None:
        with suppress(zmq.ZMQError):  # ZeroMQ may have forgotten that it was to connect there
            self.socket.disconnect(self._address)
        self.socket.connect(self._address)

    def shutdown(self) -> None:
        if self.socket is not None:
            self._reentry.shutdown()
            self._outboxes.close()
            super().shutdown()

    def message_read(self, last: zmq.Frame, parts: list[bytes], excess: str) -> None:
        if not excess:
            self._arrived(parts)
        elif count := self._notices.due("excess"):
            self._log.warn(
                "{socket} throws away messages of too many {excess}, {count} by now",
                socket=self,
                excess=excess,
                count=count,
            )
