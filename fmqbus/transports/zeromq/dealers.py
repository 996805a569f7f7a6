"""How does a client with many flows reach its broker? By many dealers, which share the threads of one context."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from fmqbus.transports.zeromq.context import Context
from fmqbus.transports.zeromq.dealer import Dealer


class Dealers:
    """Dealers of one client. To be closed, or their thread stays."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._context = Context(reactor)

    def connect(self, *arguments: Any) -> Dealer:
        """One more; what `Dealer` takes between the reactor and the context, and the same errors."""
        return Dealer(self._reactor, *arguments, context=self._context)

    def close(self) -> Deferred[None]:
        """Close all. Fires when what was sent on any of them has left, or has lingered long enough."""
        return self._context.close()
