"""One TCP connection that ZeroMQ has accepted: who is at its other end, what has it sent, how is it cut off?

The descriptor belongs to ZeroMQ, which may close it at any moment, in a thread of its own; by then it may even be the
descriptor of something else. So nothing is done with it but to ask the kernel, and to shut it down, and that only
while the kernel names the same two ends as before.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from zope.interface import implementer

from fmqbus.interfaces import IConnection
from fmqbus.model import PeerFacts
from fmqbus.transports.facts import internet_facts

#: Linux, struct tcp_info: tcpi_bytes_received, 64 bits.
_OCTETS_RECEIVED = struct.Struct("=128xQ")


#: struct linger: on, for no time at all.
_AT_ONCE = struct.pack("=ii", 1, 0)

_Answer = TypeVar("_Answer")


@implementer(IConnection)
class Accepted:
    """Lives as long as ZeroMQ's monitor says that the connection does."""

    is_kept_waiting = False

    def __init__(self, descriptor: int) -> None:
        """Raises `OSError` if there is no such connection any more."""
        self._descriptor = descriptor
        with _borrowed(descriptor) as end:
            self._ends = _ends(end)
        (host, port, *_), _ = self._ends
        self.facts: PeerFacts = internet_facts(host, port)

    @property
    def octets_received(self) -> int:
        return self.look() or 0

    def look(self) -> int | None:
        """How many octets have come in, ZeroMQ's handshake and framing included; 0 where the kernel does not tell, None
        if the connection has gone."""
        return self._ask(_count_octets, None)

    def lose(self, reason: str) -> None:
        self._ask(_shut, None)

    def abort(self, reason: str) -> None:
        self._ask(_reset, None)

    def _ask(self, question: Callable[[socket.socket], _Answer], otherwise: _Answer) -> _Answer:
        try:
            with _borrowed(self._descriptor) as end:
                return question(end) if _ends(end) == self._ends else otherwise
        except OSError:  # it has gone meanwhile
            return otherwise


@contextmanager
def _borrowed(descriptor: int) -> Iterator[socket.socket]:
    """The socket behind a descriptor, given back before anybody could close it."""
    end = socket.socket(fileno=descriptor)
    try:
        yield end
    finally:
        end.detach()


def _ends(end: socket.socket) -> tuple[Any, Any]:
    if end.family not in (socket.AF_INET, socket.AF_INET6):
        raise OSError(f"{end.family} is not TCP's")
    return end.getpeername(), end.getsockname()


def _count_octets(end: socket.socket) -> int:
    if not hasattr(socket, "TCP_INFO"):
        return 0
    answer = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _OCTETS_RECEIVED.size)
    return int(_OCTETS_RECEIVED.unpack(answer)[0]) if len(answer) == _OCTETS_RECEIVED.size else 0


def _shut(end: socket.socket) -> None:
    """ZeroMQ closes what has no more to read."""
    end.shutdown(socket.SHUT_RDWR)


def _reset(end: socket.socket) -> None:
    """Have the kernel forget what is on its way, both ways; a peer that goes on sending is told so."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    _shut(end)
