"""Who answers when ZeroMQ asks whether to let somebody in? It asks for each handshake, in a context of one place.

Where nobody answers, or an answer is not understood, nobody is let in: ZeroMQ's sockets have a domain, and keep to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import zmq
from twisted.python.failure import Failure

from fmqbus.errors import Detached, LocalError, Refused
from fmqbus.interfaces import IListener
from fmqbus.transports.zeromq import zap
from fmqbus.transports.zeromq.admission import Admission
from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.reading import ReadingSocket
from fmqbus.turns import Turns

#: A request of PLAIN has ten.
_MOST_PARTS = 16
#: Reasons that may not hold for long; a peer that is told nothing tries again by itself.
_PASSING = frozenset({"busy", "changed", "paused", "time"})


class Gatekeeper(ReadingSocket):
    """Answers the requests of all sockets in one context. To be there before they listen."""

    # Not REP: what takes long, such as a password's hash, must not hold up the others.
    socketType = zmq.ROUTER

    def __init__(self, context: Context, admission: Admission, listener: IListener, turns: Turns) -> None:
        super().__init__(context, turns, _MOST_PARTS, listener.limits.control_octets)
        self._admission = admission
        self._listener = listener
        self.socket.bind(zap.PLACE)
        self.resume_reading()

    def __repr__(self) -> str:
        return f"<Gatekeeper by {self._admission.mechanism.decode()}>"

    def message_read(self, last: zmq.Frame, parts: list[bytes], excess: str) -> None:
        try:
            request = zap.parse(parts)
        except LocalError as error:
            self._listener.refused("handshake", str(error))
            return
        if request.mechanism != self._admission.mechanism:
            self._turn_away(Failure(Refused("another mechanism", "mechanism")), request)
            return
        admitted = self._admission.admit(request)
        admitted.addCallbacks(self._let_in, self._turn_away, callbackArgs=(request,), errbackArgs=(request,))
        admitted.addErrback(self._failed)

    def _let_in(self, user_id: str, request: zap.Request) -> None:
        self._reply(zap.welcome(request, user_id))

    def _turn_away(self, failure: Failure, request: zap.Request) -> None:
        error = failure.value
        if not isinstance(error, Refused):
            failure.raiseException()
        else:
            self._listener.refused(error.reason, f"{request.address}: {error}")
            self._reply(zap.refusal(request, is_final=error.reason not in _PASSING))

    def _reply(self, parts: Sequence[bytes]) -> None:
        """Whoever has gone meanwhile is not missed, nor is anybody when the place is closed."""
        with suppress(Detached):
            self.send_parts(parts)

    def _failed(self, failure: Failure) -> None:
        """The handshake waits until its time is over."""
        self._log.failure("{socket} has failed, which counts as no", failure, socket=self)
