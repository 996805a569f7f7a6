"""How does a client reach a broker of MTL, and keep its control flow? When it is let in, there is a connection.

ZeroMQ connects again by itself, but what was under way may be lost then, so a session ends with its connection. And a
broker that does not answer in time is gone (MTL, General Operation). Each session begins with a socket and an identity
of its own: what an earlier one has left in ZeroMQ is nobody's.
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from typing import Protocol as Contract

import attrs
import zmq
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import ConnectionDone, ConnectionLost, TimeoutError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IReactorThreads, IStreamClientEndpoint
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.client.mtl_control import Control, Denied, Ended, Event, Leased, Opened, Wish
from fmqbus.client.sasl import Login, Work
from fmqbus.errors import BusError, Detached, Overloaded, PeerError, Refused
from fmqbus.limits import Limits
from fmqbus.protocols.mtl.codec import encode
from fmqbus.protocols.mtl.control_codec import decode_reply
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport

#: Within this, a broker that is there has answered.
ANSWER_SECONDS = 10.0

#: Makes what makes sockets, given the reactor; as `fmqbus.transports.zeromq.dealers.Dealers`.
MakeSockets = Callable[[Any], Any]


def new_identity() -> bytes:
    """Of a socket that nobody else has had, nor can guess: whoever has it may speak in our place."""
    return secrets.token_hex(16).encode()


@attrs.frozen(kw_only=True)
class Place:
    """Where a broker is, and as whom a client comes there."""

    host: str
    port: int
    virtual_host: str = ""
    login: Login | None = None
    #: What its sockets ask for: keys, or nothing.
    passport: Passport = NO_PASSPORT

    @property
    def is_private(self) -> bool:
        """Nobody else can listen on the way: it is on this machine, or encrypted."""
        return self.passport.is_private or _is_loopback(self.host)

    def address(self, port: int) -> str:
        """A port of this broker, as ZeroMQ takes it: data flows are at the same host (reading 24)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp://{host}:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SessionOwner(Contract):
    """What the session tells, and to whom: a protocol of Twisted, whose transport it is."""

    def makeConnection(self, transport: Any) -> None:
        """There is a connection."""

    def leased(self, wish: Wish, port: int, lease: bytes) -> None:
        """A wish has its lease."""

    def denied(self, wish: Wish, error: BusError) -> None:
        """It is refused."""

    def incorrect(self) -> None:
        """The broker has said what cannot be understood; it is dropped."""

    def wind_up(self) -> None:
        """End what is under way, and then call `Session.close`."""


class Session:
    """One control flow. To what is made on it, it is the transport."""

    def __init__(
        self, place: Place, reactor: Any, limits: Limits, answer_seconds: float, make_sockets: MakeSockets
    ) -> None:
        self.place = place
        #: Fires when the client is let in; cancelled, it closes the socket.
        self.opened: Deferred[None] = Deferred(lambda _: self._end(Detached("the client has stopped")))
        self._reactor = reactor
        self._limits = limits
        self._answer_seconds = answer_seconds
        self._make_sockets = make_sockets
        self._sockets: Any = None
        self._control = Control(place.virtual_host, place.login, place.is_private)
        self._protocol: Any = None
        self._socket: Any = None
        self._timer: Any = None
        self._is_over = False

    def begin(self) -> None:
        """Connect, and ask to be let in. Raises `zmq.ZMQError` for an address that is none."""
        self._sockets = self._make_sockets(self._reactor)
        try:
            self._socket = self.connect(self.place.port, self._arrived, self._lost)
        except zmq.ZMQError:
            self._sockets.close()
            raise
        self._control.open()
        self._go_on([])

    def connect(
        self,
        port: int,
        arrived: Callable[[Sequence[bytes]], None],
        lost: Callable[[], None],
        link_clear: Callable[[], None] = lambda: None,
    ) -> Any:
        """A socket of this session, as `fmqbus.transports.zeromq.dealer.Dealer`, to a port of the broker."""
        return self._sockets.connect(
            self.place.address(port), new_identity(), arrived, self._limits, link_clear, self.place.passport, lost
        )

    def pass_on_to(self, protocol: SessionOwner) -> None:
        """From now on there is a connection."""
        self._protocol = protocol
        protocol.makeConnection(self)

    @property
    def profiles(self) -> Sequence[str]:
        """Those that the broker has."""
        return self._control.profiles

    def want(self, wish: Wish) -> None:
        """Ask for a lease, when its turn comes."""
        if not self._is_over:
            self._control.want(wish)
            self._go_on(self._control.go_on())

    def withdraw(self, wish: Wish) -> None:
        """It is not wanted any more."""
        self._control.withdraw(wish)

    # as a transport

    def loseConnection(self) -> None:
        """End in good order."""
        if not self._is_over:
            self._protocol.wind_up()

    def abortConnection(self) -> None:
        """End at once."""
        self.close()

    def close(self) -> None:
        """Close all sockets, and tell that the connection is gone when what was said has left, or lingered long
        enough."""
        if not self._is_over:
            self._close().addCallback(lambda _: self._protocol.connectionLost(Failure(ConnectionDone())))

    def fail(self, error: Exception) -> None:
        """There is no use in it any more."""
        if self._is_over:
            return
        self._close()
        if self._protocol is not None:
            self._protocol.connectionLost(Failure(error))
        elif not self.opened.called:
            self.opened.errback(error)

    def _end(self, error: BusError) -> None:
        self._control.end(error)
        self._close()

    def _close(self) -> Deferred[None]:
        self._is_over = True
        self._cancel_timer()
        closing: Deferred[None] = self._sockets.close()
        return closing

    # what comes

    def _arrived(self, parts: Sequence[bytes]) -> None:
        if self._is_over:
            return
        try:
            events = self._control.heard(decode_reply(parts, self._limits))
        except PeerError:
            if self._protocol is not None:
                self._protocol.incorrect()
        else:
            self._go_on(events)

    def _go_on(self, events: Iterable[Event]) -> None:
        """Do what is to be done now, and tell what has happened."""
        request = self._control.take_request()
        if request is not None:
            try:
                self._socket.send(encode(request))
            except (Detached, Overloaded) as error:
                self.fail(error)
                return
        self._cancel_timer()
        if self._control.is_waiting:
            self._timer = self._reactor.callLater(self._answer_seconds, self._unanswered)
        if (work := self._control.take_work()) is not None:
            self._in_thread(work).addCallbacks(self._computed, self._not_computed)
        for event in events:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        if self._is_over:
            return
        match event:
            case Opened():
                if not self.opened.called:
                    self.opened.callback(None)
            case Leased(wish, port, lease):
                self._protocol.leased(wish, port, lease)
            case Denied(wish, error):
                self._protocol.denied(wish, error)
            case Ended(error):
                self.fail(error)

    def _lost(self) -> None:
        self.fail(ConnectionLost())

    def _unanswered(self) -> None:
        self._timer = None
        self.fail(TimeoutError(f"the bus has not answered within {self._answer_seconds:g} s"))

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _in_thread(self, work: Work) -> Deferred[bytes]:
        """A clock that is no reactor has no threads."""
        if IReactorThreads.providedBy(self._reactor):
            return deferToThreadPool(self._reactor, self._reactor.getThreadPool(), work.run)
        return maybeDeferred(work.run)

    def _computed(self, response: bytes) -> None:
        if not self._is_over:
            self._control.computed(response)
            self._go_on([])

    def _not_computed(self, reason: Failure) -> None:
        self.fail(PeerError(f"the login cannot go on: {reason.getErrorMessage()}", "login"))


@implementer(IStreamClientEndpoint)
@attrs.frozen
class MTLEndpoint:
    """Where a broker is, as one connects there: a connection counts as made when the client is let in.

    `connect` fails with `Refused` and what the bus says, with `PeerError` where that makes no sense, and with
    `twisted.internet.error.TimeoutError`. The protocols that it connects are told by `begin` of the session.
    """

    place: Place
    reactor: Any
    limits: Limits
    answer_seconds: float
    make_sockets: MakeSockets
    #: Called with each refusal.
    refused: Callable[[Exception], object]

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: IProtocolFactory) -> IProtocol:
        session = Session(self.place, self.reactor, self.limits, self.answer_seconds, self.make_sockets)
        session.begin()
        try:
            await session.opened
        except (Refused, PeerError) as error:
            self.refused(error)
            raise
        protocol: Any = factory.buildProtocol(None)  # type: ignore[arg-type]
        protocol.begin(session)
        session.pass_on_to(protocol)
        return protocol  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return self.place.address(self.place.port)
