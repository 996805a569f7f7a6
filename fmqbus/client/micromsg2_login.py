"""How does a MicroMsg2 client prove who it is? By the extension ``x-sasl``, between the handshake and all else.

The server may have let in somebody unknown by then; nothing is asked of it before it has said yes to who we are.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import ISSLTransport, ITransport
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.threads import deferToThreadPool
from twisted.python.failure import Failure

from fmqbus.client.sasl import MOST_ROUNDS, Exchange, Login, Work
from fmqbus.errors import PeerError, Refused
from fmqbus.protocols.micromsg2.connection import Connection
from fmqbus.protocols.micromsg2.events import ErrorReceived, Event, Failed, LoginSaid
from fmqbus.protocols.micromsg2.extensions.sasl import X_SASL, Word, write_begin
from fmqbus.transports.facts import stream_facts


class LoggingIn(Protocol):
    """One login on a connection that is open. When that is over, `done` fires with None, or fails with `Refused` or
    `PeerError`, or with the connection's end."""

    transport: ITransport

    def __init__(self, connection: Connection, login: Login, reactor: Any) -> None:
        self.done: Deferred[None] = Deferred(lambda _: self._abort())
        self._connection = connection
        self._login = login
        self._reactor = reactor
        self._exchange: Exchange | None = None
        self._rounds = 0

    def connectionMade(self) -> None:
        try:
            mechanism = self._login.choose(None, self._is_private())
        except Refused:
            self._end(Failure())
            return
        self._exchange = self._login.begin(mechanism)
        # an exchange that begins with nothing waits for the server to begin
        self._say(write_begin(mechanism, self._exchange.first() or None))

    def dataReceived(self, data: bytes) -> None:
        try:
            for event in self._connection.receive(data):
                self._hear(event)
        except (PeerError, Refused):
            self._end(Failure())
        self._write()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._connection.close()
        self._end(reason)

    def _is_private(self) -> bool:
        """Nobody else can listen."""
        return ISSLTransport.providedBy(self.transport) or stream_facts(self.transport).is_local

    def _hear(self, event: Event) -> None:
        if isinstance(event, ErrorReceived):
            raise Refused(event.text)
        if isinstance(event, Failed):
            raise PeerError(event.text, event.reason)
        if isinstance(event, LoginSaid) and not self.done.called:
            self._hear_of_login(event)

    def _hear_of_login(self, said: LoginSaid) -> None:
        exchange = self._exchange
        assert exchange is not None, "it has been begun"
        if said.word == Word.REFUSED:
            raise Refused(said.octets.decode("utf-8", "replace"))
        if said.word == Word.CHALLENGE:
            self._answer(exchange.answer(said.octets))
            return
        if said.word != Word.ADMITTED:
            raise PeerError("the server says of the login what only we can", "login")
        if said.octets:
            exchange.answer(said.octets)
        if not exchange.is_content:
            raise PeerError("the server lets us in, and has not proved that it knows the password", "login")
        self._end(None)

    def _answer(self, answer: bytes | Work) -> None:
        self._rounds += 1
        if self._rounds > MOST_ROUNDS:
            raise PeerError("the server asks for more and more", "login")
        if isinstance(answer, Work):
            working = deferToThreadPool(self._reactor, self._reactor.getThreadPool(), answer.run)
            working.addCallbacks(self._respond, self._end)
        else:
            self._respond(answer)

    def _respond(self, octets: bytes) -> None:
        self._say(bytes([Word.RESPONSE]) + octets)

    def _say(self, payload: bytes) -> None:
        self._connection.extend(X_SASL.name, payload)
        self._write()

    def _write(self) -> None:
        if chunks := self._connection.take_output():
            self.transport.writeSequence(chunks)

    def _end(self, failure: Failure | None) -> None:
        if self.done.called:
            return
        if failure is None:
            self.done.callback(None)
        else:
            self.transport.loseConnection()
            self.done.errback(failure)

    def _abort(self) -> None:
        self.transport.abortConnection()  # type: ignore[attr-defined]
