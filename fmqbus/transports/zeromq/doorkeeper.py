"""Who is connected to a ZeroMQ socket, who is turned away, and who has to go?

ZeroMQ accepts connections by itself, in a thread of its own, and tells afterwards, by a monitor. So those beyond the
limits are cut off a moment after they were accepted; what such a one said in that moment may have been heard. Of some
it does not tell that they have gone (those whose identity another one took over), and it never tells what they hold
half-sent. So the connections are also looked at, a few at a time: what that costs is the same however many there are.
"""

from __future__ import annotations

import itertools
import struct
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import attrs
import zmq

from fmqbus.interfaces import IListener
from fmqbus.transports.zeromq.accepted import Accepted
from fmqbus.transports.zeromq.admission import Admission
from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.newcomers import LEAST_OCTETS, Newcomers
from fmqbus.transports.zeromq.reading import ReadingSocket
from fmqbus.transports.zeromq.sockets import PartsSocket
from fmqbus.transports.zeromq.unfinished import Unfinished
from fmqbus.turns import Turns

LOOK_SECONDS = 0.1
#: A look at one connection takes some microseconds.
CONNECTIONS_AT_ONCE = 200

#: After somebody was let in no longer, those are looked at again who were just then coming in.
CHECK_AGAIN_SECONDS = 1.0

#: zmq_socket_monitor: what has happened, and for the first two events the descriptor.
_EVENT = struct.Struct("=Hi")
_FAILURES = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
_EVENTS = zmq.EVENT_ACCEPTED | zmq.EVENT_ACCEPT_FAILED | zmq.EVENT_DISCONNECTED | _FAILURES

_numbers = itertools.count()


@attrs.define(eq=False)
class _Guest:
    connection: Accepted
    unfinished: Unfinished
    #: As whom it was let in; None until something is heard from it, for only that tells.
    user_id: str | None = None


class Doorkeeper(ReadingSocket):
    """Keeps the connections of one socket, and tells the listener of each that comes and goes."""

    socketType = zmq.PAIR

    def __init__(
        self,
        context: Context,
        watched: PartsSocket,
        listener: IListener,
        turns: Turns,
        admission: Admission | None = None,
    ) -> None:
        super().__init__(context, turns, most_parts=2, most_octets=listener.limits.control_octets)
        self.is_letting_in = True
        self._listener = listener
        self._watched = watched
        self._admission = admission
        self._newcomers = Newcomers(LEAST_OCTETS[admission.mechanism if admission else b"NULL"])
        #: By descriptor; who has not been looked at for the longest time comes first.
        self._guests: OrderedDict[int, _Guest] = OrderedDict()
        self._timer: Any = None
        self._check: Any = None
        place = f"inproc://doorkeeper-{next(_numbers)}"
        watched.socket.monitor(place, _EVENTS)
        # Without a bound: ZeroMQ's thread would wait at it, and with it all connections.
        self.socket.set(zmq.RCVHWM, 0)
        self.socket.connect(place)
        self.resume_reading()

    def __repr__(self) -> str:
        return f"<Doorkeeper of {self._watched!r}>"

    def message_read(self, last: zmq.Frame, parts: list[bytes], excess: str) -> None:
        event, descriptor = _EVENT.unpack(parts[0])
        if event & _FAILURES:
            self._listener.refused("handshake", "whoever cannot finish a handshake")
            return
        if event == zmq.EVENT_ACCEPT_FAILED:
            self._listener.refused("network", "whoever comes from a network that is not allowed, or finds no room")
            return
        self._gone(descriptor)  # also where another one has come instead
        if event == zmq.EVENT_ACCEPTED:
            self._came(descriptor)

    def shutdown(self) -> None:
        """All connections go with the socket."""
        for timer in (self._timer, self._check):
            if timer is not None:
                timer.cancel()
        for descriptor in list(self._guests):
            self._gone(descriptor)
        self._watched.socket.disable_monitor()
        super().shutdown()

    def _came(self, descriptor: int) -> None:
        try:
            connection = Accepted(descriptor)
        except OSError:  # it has gone already
            return
        if self.is_letting_in and self._listener.opened(connection, connection.facts):
            self._guests[descriptor] = _Guest(connection, Unfinished(self._listener))
            self._make_room(self._newcomers.came(connection))
            if self._timer is None:
                self._timer = self._listener.clock.callLater(LOOK_SECONDS, self._look_around)
        else:
            connection.abort("turned away")

    def _gone(self, descriptor: int) -> None:
        if (guest := self._guests.pop(descriptor, None)) is not None:
            guest.unfinished.let_go()
            self._listener.closed(guest.connection, guest.connection.facts)
            self._newcomers.left(guest.connection)
            self._watched.heard.pop(descriptor, None)

    def _make_room(self, connection: Accepted | None) -> None:
        if connection is not None:
            self._listener.refused("waiting", f"{connection.facts.address}: too many handshakes at a time")
            connection.abort("too many handshakes")

    def check_soon(self) -> None:
        """Somebody who was let in would be so no longer: cut off whoever that is, and of whom we do not know; honest
        peers come back by themselves. May be repeated."""
        if self._check is not None:
            self._check.cancel()  # it may be the second look at those of a former time
        self._check = self._listener.clock.callLater(0, self._check_all, CHECK_AGAIN_SECONDS)

    def _check_all(self, again_after: float | None) -> None:
        self._check = None
        if again_after is not None:
            self._check = self._listener.clock.callLater(again_after, self._check_all, None)
        self._go_on_checking(iter(list(self._guests.items())))

    def _go_on_checking(self, guests: Iterator[tuple[int, _Guest]]) -> None:
        for descriptor, guest in guests:
            if self._guests.get(descriptor) is guest and not self._is_still_let_in(descriptor, guest):
                guest.connection.abort("no longer let in")
            if self._turns.is_used_up:
                self._turns.wait(lambda: self._go_on_checking(guests))
                return

    def _is_still_let_in(self, descriptor: int, guest: _Guest) -> bool:
        user_id = self._watched.heard.get(descriptor, guest.user_id)
        if self._admission is None or user_id is None:
            return False
        return self._admission.proved(user_id, guest.connection.facts) is not None

    def _look_around(self) -> None:
        self._timer = self._listener.clock.callLater(LOOK_SECONDS, self._look_around) if self._guests else None
        for descriptor in list(itertools.islice(self._guests, CONNECTIONS_AT_ONCE)):
            self._guests.move_to_end(descriptor)
            self._look_at(descriptor, self._guests[descriptor])

    def _look_at(self, descriptor: int, guest: _Guest) -> None:
        heard = self._watched.heard
        is_excused = self._watched.is_behind or descriptor in heard
        if (user_id := heard.pop(descriptor, None)) is not None:
            guest.user_id = user_id
            self._newcomers.left(guest.connection)
        octets = guest.connection.look()
        if octets is None:
            self._gone(descriptor)
        elif guest.unfinished.is_too_much(octets, is_excused):
            guest.connection.abort("unfinished message")
            if count := self._notices.due("unfinished"):
                self._log.warn(
                    "{address} is cut off for a message that does not end, {count} such peers by now",
                    address=guest.connection.facts.address,
                    count=count,
                )
