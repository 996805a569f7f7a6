"""One connection of a stream protocol: its socket, its back pressure, its ways of ending. Knows no packets.

A protocol derives from `StreamProtocol`, gets octets in `octets_arrived` and sends with `write`. Four things happen
here that plain Twisted leaves to chance:

**Fairness.** What a read brought is acted on in steps, for as long as `fmqbus.turns` allows; then others
are served, and this connection is not read until it is through.

**Latency.** `transport.write` sends in the next turn of the reactor, after two system calls to the poller. While
nothing of ours waits in the transport, `write` sends on the socket at once and leaves only the rest to the transport.
TLS has no socket of that kind and goes the ordinary way.

**Back pressure.** As soon as the kernel takes no more, `link_full` is called, and `link_clear` when all is sent;
between them what is to be sent waits in the bus's bounded outbox, not in the transport. Replies cannot wait there: a
client that goes on asking and does not read what it is told is cut off.

**Endings.** Closing a socket that has unread octets makes the kernel send a reset, which may destroy what the client
has not read yet. So `lose` first waits for the outbox, shuts its own direction, and reads the client's empty, all
within limits. The states and what each one allows:

=========== ============== ============ =====================================================
state       octets arrive  may write    leaves when
=========== ============== ============ =====================================================
open        heard          yes          the client ends, `lose`, `abort`
deaf        discarded      yes          as open; entered by `stop_listening` (soft stop)
finishing   discarded      yes          the outbox is empty, or `linger_seconds` are over
lingering   discarded      no           the client ends too, or `linger_seconds` are over
ended       heard          no           all that had arrived is acted on, or `abort`; the connection has gone already
closed      --             no           never
=========== ============== ============ =====================================================
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from socket import socket
from typing import Any, cast

from twisted.internet import tcp
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IHalfCloseableProtocol, IPushProducer, ITCPTransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.interfaces import IConnection, ILink, IListener
from fmqbus.model import PeerFacts
from fmqbus.transports.hang_up import has_hung_up
from fmqbus.turns import Turns

_log = Logger()

#: Read at first, and where very many send much at the same time, or a turn would take long.
SMALL_READ = 16 * 1024
#: How much more is read from a connection that had more to say, each time.
GROWTH = 4
#: Larger reads hold longer runs and need fewer system calls; beyond this nothing is gained.
LARGE_READ = 256 * 1024
#: Between two looks whether a client has gone that is not read for now.
LOOK_SECONDS = 5.0


class LinkState(enum.Enum):
    """See the table at the head of this file."""

    OPEN = "open"
    DEAF = "deaf"
    FINISHING = "finishing"
    LINGERING = "lingering"
    ENDED = "ended"
    CLOSED = "closed"


_MAY_WRITE = {LinkState.OPEN, LinkState.DEAF, LinkState.FINISHING}


@implementer(ILink, IHalfCloseableProtocol, IPushProducer)
class StreamProtocol(Protocol):
    """The link half of a stream protocol; the other half overrides the ``link_`` methods and `octets_arrived`."""

    facts: PeerFacts
    octets_received = 0
    state = LinkState.CLOSED
    _socket: socket | None = None
    #: Between `link_full` and `link_clear`.
    is_full = False
    #: Written since it is.
    _unread_octets = 0
    _client_has_ended = False
    _is_held = False
    _has_hung_up = False
    _is_unfinished = False
    _arrived_meanwhile = b""
    _read_octets = 0
    _read_size = SMALL_READ
    _transport: Any
    _timer: Any = None
    _look: Any = None
    _end_reason = ""

    def __init__(self, listener: IListener, turns: Turns) -> None:
        self.listener = listener
        self._turns = turns

    # for the other half

    def link_made(self) -> None:
        """The connection is admitted; `facts` are known."""
        raise NotImplementedError

    def octets_arrived(self, data: bytes) -> None:
        """The client sent this. What of it may take long goes into `take_steps`."""
        raise NotImplementedError

    def turn_over(self) -> None:
        """As much has been acted on as could be in this turn."""

    def link_full(self) -> None:
        """Nothing more can be sent for now. May be repeated."""
        raise NotImplementedError

    def link_clear(self) -> None:
        """All that was written has left; write on. May be repeated."""
        raise NotImplementedError

    def link_lost(self, reason: str) -> None:
        """The connection has gone, whichever way. Called once, and only after `link_made`."""
        raise NotImplementedError

    def when_sent(self) -> Deferred[None]:
        """Fires when nothing waits to be sent to this client any more."""
        raise NotImplementedError

    def peer_facts(self) -> PeerFacts:
        """What is known of the other end; asked once, when the connection is made."""
        return self.listener.peer_facts(self._transport)

    @property
    def is_kept_waiting(self) -> bool:
        return self._is_held or self._is_unfinished

    # what the other half may do

    def write(self, chunks: Sequence[bytes]) -> None:
        """Send these octets, at once if the socket takes them; what is left follows by itself."""
        if self.state not in _MAY_WRITE:
            return
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if self._socket is None:
            self._transport.write(data)
            if self.is_full:
                self._unread_octets += len(data)
                if self._unread_octets > self.listener.limits.outbox_octets:
                    self.abort("unread")
            return
        try:
            sent = self._socket.send(data)
        except OSError:
            # full, or broken: the transport will find out which
            sent = 0
        if sent < len(data):
            self._socket = None
            self._transport.write(data[sent:])
            self.pauseProducing()

    def take_steps(self, steps: Iterator[None]) -> None:
        """Act on what arrived, for as long as the turn allows. The rest follows in later turns, and until it is done
        the client is not read. Once it is no longer heard, the rest is discarded."""
        is_done = True
        for _ in steps:
            if self._turns.is_used_up:
                is_done = False
                break
        self.turn_over()
        if not is_done:
            if not self._is_unfinished and not self._set_aside():
                self.abort("assembly limit")
                return
            self._turns.wait(lambda: self._go_on(steps))
        elif self._is_unfinished:
            self._take_back()
            self._caught_up()

    def pause_reading(self) -> None:
        """Leave what the client sends in the socket, so that it has to wait; unless it has gone, for then the rest is
        all that comes. May be repeated."""
        if self.state is LinkState.OPEN and not self._has_hung_up:
            self._is_held = True
            self._transport.pauseProducing()
            if self._look is None:
                self._look_later()

    def resume_reading(self) -> None:
        """Undo `pause_reading`. May be repeated."""
        self._is_held = False
        self._read_on()

    def stop_listening(self) -> None:
        """Discard from now on what the client sends; go on sending to it."""
        if self.state is LinkState.OPEN:
            self.state = LinkState.DEAF
            self._transport.resumeProducing()

    def lose(self, reason: str) -> None:
        self.stop_listening()
        self._finish()

    def abort(self, reason: str) -> None:
        if self.state is LinkState.ENDED:
            self.listener.clock.callLater(0, self._close)
        elif self.state is not LinkState.CLOSED:
            self.stop_listening()
            self._transport.abortConnection()

    # what Twisted calls

    def connectionMade(self) -> None:
        # Twisted's own annotation knows no transport that can abort or has producers
        self._transport = cast(Any, self.transport)
        self.facts = self.peer_facts()
        if not self.listener.opened(cast(IConnection, self), self.facts):
            self._transport.abortConnection()
            return
        self.state = LinkState.OPEN
        self._plain_socket = _plain_socket(self._transport)
        self._socket = self._plain_socket
        self._transport.bufferSize = self._read_size
        tcp_transport = ITCPTransport(self._transport, None)
        if tcp_transport is not None and self.facts.carrier != "unix":
            tcp_transport.setTcpNoDelay(True)
            tcp_transport.setTcpKeepAlive(True)
        # A plain socket is asked for more whenever the transport's own buffer is empty (a pull producer); TLS tells
        # when its buffer passes a mark, either way (a push producer).
        self._transport.registerProducer(self, self._plain_socket is None)
        self.link_made()

    def dataReceived(self, data: bytes) -> None:
        self.octets_received += len(data)
        if len(data) >= self._read_size:
            is_crowded = self._turns.has_read_enough(len(data))
            size = SMALL_READ if is_crowded else min(self._read_size * GROWTH, LARGE_READ)
            self._read_size = self._transport.bufferSize = size
        if self.state is LinkState.OPEN:
            if self._is_unfinished:
                self._arrived_meanwhile += data  # TLS may bring a little that it had read before it was paused
            else:
                self._read_octets = len(data)
                self.octets_arrived(data)

    def pauseProducing(self) -> None:
        self.is_full = True
        self.link_full()

    def resumeProducing(self) -> None:
        if self.state in _MAY_WRITE and self._socket is None:
            self._socket = self._plain_socket
            self.is_full, self._unread_octets = False, 0
            self.link_clear()

    def stopProducing(self) -> None:
        """The transport is going; `connectionLost` follows."""

    def readConnectionLost(self) -> None:
        """The client has said all it will say, which for a client is how it goes. What is on its way to it is still
        sent. Where thousands go at once, the others do not wait for all of them."""
        self._client_has_ended = True
        if self._turns.is_used_up:
            self._turns.wait(self._client_ended)
        else:
            self._client_ended()

    def _client_ended(self) -> None:
        if self.state is LinkState.LINGERING:
            self._transport.loseConnection()
        else:
            self._finish()

    def writeConnectionLost(self) -> None:
        """Our own direction is shut, as asked."""

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self.state is LinkState.CLOSED:
            return
        self._end_reason = type(reason.value).__name__
        self._socket = self._plain_socket = None
        for timer in (self._timer, self._look):
            if timer is not None and timer.active():
                timer.cancel()
        if self._is_unfinished and self.state is LinkState.OPEN:
            # TLS can tell of the end together with what was said before it
            self.state = LinkState.ENDED
        else:
            self._close()

    # reading

    def _look_later(self) -> None:
        self._look = self.listener.clock.callLater(LOOK_SECONDS, self._look_at_held)

    def _look_at_held(self) -> None:
        """Who is not read cannot be seen to go by reading."""
        self._look = None
        if self._is_held and self.state is LinkState.OPEN:
            self._has_hung_up = has_hung_up(self._transport)
            if self._has_hung_up:
                self.resume_reading()
            else:
                self._look_later()

    def _set_aside(self) -> bool:
        """What was read last has to wait; False if all connections together have too much that waits."""
        if not self.listener.hold(self._read_octets):
            return False
        self._is_unfinished = True
        self._transport.pauseProducing()
        return True

    def _take_back(self) -> None:
        self._is_unfinished = False
        self.listener.hold(-self._read_octets)

    def _go_on(self, steps: Iterator[None]) -> None:
        if self.state not in (LinkState.OPEN, LinkState.ENDED):
            return
        try:
            self.take_steps(steps)
        except Exception:  # as Twisted does where reading fails
            _log.failure("{peer} is cut off", peer=self.facts.address)
            self.abort("failed")

    def _read_on(self) -> None:
        has_gone = self.state in (LinkState.ENDED, LinkState.CLOSED)
        if not self._is_held and not self._is_unfinished and not has_gone:
            self._transport.resumeProducing()

    def _caught_up(self) -> None:
        """All that was read is acted on."""
        if self._arrived_meanwhile:
            data, self._arrived_meanwhile = self._arrived_meanwhile, b""
            self._read_octets = len(data)
            self.octets_arrived(data)
        if self.state is LinkState.ENDED and not self._is_unfinished:
            self._close()
        else:
            self._read_on()

    # endings

    def _close(self) -> None:
        if self.state is not LinkState.CLOSED:
            self.state = LinkState.CLOSED
            if self._is_unfinished:
                self._take_back()
            self.listener.closed(cast(IConnection, self), self.facts)
            self.link_lost(self._end_reason)

    def _finish(self) -> None:
        if self.state not in (LinkState.OPEN, LinkState.DEAF):
            return
        self.state = LinkState.FINISHING
        limit = self.listener.limits.linger_seconds
        self._timer = self.listener.clock.callLater(limit, self.abort, "lingered too long")
        self.when_sent().addCallback(self._shut)

    def _shut(self, _: object) -> None:
        """All is sent. Where the client may still be sending, shut our direction only; TLS says goodbye by itself."""
        if self.state is not LinkState.FINISHING:
            return
        self.state = LinkState.LINGERING
        self._transport.unregisterProducer()
        if self._client_has_ended or self._plain_socket is None:
            self._transport.loseConnection()
        else:
            self._transport.loseWriteConnection()


def _plain_socket(transport: Any) -> socket | None:
    """The socket that octets can be sent on directly; None where something stands between (TLS, tests)."""
    if isinstance(transport, tcp.Connection) and not transport.TLS:
        return transport.getHandle()
    return None
