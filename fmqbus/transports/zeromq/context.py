"""What do ZeroMQ sockets have in common, and how do they end? A context: a thread of ZeroMQ's own for each."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.internet.threads import deferToThreadPool
from txzmq import ZmqFactory

from fmqbus.waiting import Waiters


class Context(ZmqFactory):  # type: ignore[misc]  # txZMQ has no types
    """A context in a reactor that is given. To be closed, or its thread stays."""

    def __init__(self, reactor: Any) -> None:
        super().__init__()
        # that of the class is whichever was installed when txZMQ was imported
        self.reactor = reactor
        self._closing: Waiters | None = None
        self._is_closed = False

    def close(self) -> Deferred[None]:
        """Close all sockets. Fires, for each caller, when what was sent last has left, or its sockets have lingered
        long enough."""
        if self._closing is None:
            self._closing = Waiters()
            for connection in list(self.connections):
                connection.shutdown()
            # to wait is a thread's business
            deferToThreadPool(self.reactor, self.reactor.getThreadPool(), self.context.term).addCallback(self._closed)
        return succeed(None) if self._is_closed else self._closing.wait()

    def _closed(self, _: object) -> None:
        assert self._closing is not None
        self._is_closed = True
        self._closing.fire()
