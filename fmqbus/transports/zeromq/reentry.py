"""What if a broker does not let a dealer in? Say so, and ask again later. And what if it goes?

ZeroMQ itself tells nobody. Where the other end goes away in the middle of a handshake, as it does for those who take it
for another one, ZeroMQ comes back by itself; where it says no, ZeroMQ never asks again. But keys are added, and users.
After the handshake ZeroMQ comes back, too; but to a broker that may have started anew.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import zmq

from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.reading import ReadingSocket
from fmqbus.turns import Turns

#: As seldom as those who cannot reach a broker try in the end.
ASK_AGAIN_SECONDS = 5.0

#: zmq_socket_monitor: what has happened, and a number.
_EVENT = struct.Struct("=Hi")
#: The other end has said no, or it cannot be understood: a mechanism of its own.
_FINAL = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
_EVENTS = _FINAL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
#: It stands, and it has gone, be it that it never stood.
_STANDS, _GONE = zmq.EVENT_HANDSHAKE_SUCCEEDED, zmq.EVENT_DISCONNECTED
_MOST_OCTETS = 4096

_numbers = itertools.count()


class Reentry(ReadingSocket):
    """Watches one socket that connects to one place."""

    socketType = zmq.PAIR

    def __init__(
        self,
        context: Context,
        watched: Any,
        turns: Turns,
        ask_again: Callable[[], None],
        lost: Callable[[], None] | None = None,
    ) -> None:
        """`watched` is the dealer; `ask_again` has its socket connect anew. `lost` is told when a connection that stood
        has gone."""
        super().__init__(context, turns, most_parts=2, most_octets=_MOST_OCTETS)
        self._watched = watched
        self._ask_again = ask_again
        self._lost = lost
        self._has_stood = False
        self._timer: Any = None
        place = f"inproc://reentry-{next(_numbers)}"
        watched.socket.monitor(place, _EVENTS if lost is None else _EVENTS | _STANDS | _GONE)
        self.socket.set(zmq.RCVHWM, 0)  # ZeroMQ's thread would wait at a bound
        self.socket.connect(place)
        self.resume_reading()

    def __repr__(self) -> str:
        return f"<Reentry of {self._watched!r}>"

    def message_read(self, last: zmq.Frame, parts: list[bytes], excess: str) -> None:
        event, _ = _EVENT.unpack(parts[0])
        if event & (_STANDS | _GONE):
            self._stands(event == _STANDS)
            return
        is_final = bool(event & _FINAL)
        if count := self._notices.due("final" if is_final else "broken off"):
            self._log.warn(
                "{socket} is not let in: {why} ({count} times)",
                socket=self._watched,
                why="the broker says no, or has another mechanism"
                if is_final
                else "the broker has gone in the middle of the handshake; perhaps it has another key",
                count=count,
            )
        if is_final and self._timer is None:
            self._timer = self._reactor.callLater(ASK_AGAIN_SECONDS, self._time_is_up)

    def shutdown(self) -> None:
        if self.socket is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._watched.socket.disable_monitor()
        super().shutdown()

    def _stands(self, is_so: bool) -> None:
        had_stood, self._has_stood = self._has_stood, is_so
        if had_stood and not is_so and self._lost is not None:
            self._lost()

    def _time_is_up(self) -> None:
        self._timer = None
        self._ask_again()
