"""How is nobody let in before the bus has back what it keeps?

Ports are opened at once, while the process may still use low ones, and accept nothing: clients wait in the kernel's
queue, as they would while a listener is full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IPushProducer
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.interfaces import ICarrier
from fmqbus.model import PeerFacts


@implementer(ICarrier)
@attrs.frozen
class WaitingCarrier:
    """A carrier that listens once the bus is ready. Fails as `when_ready` does; the port is then closed again."""

    carrier: ICarrier
    when_ready: Callable[[], Deferred[None]]

    def fitted(self, factory: Any) -> Any:
        return self.carrier.fitted(factory)

    def listen(self, factory: Any) -> Deferred[Any]:
        return self.carrier.listen(factory).addCallback(self._wait)

    def peer_facts(self, transport: Any) -> PeerFacts:
        return self.carrier.peer_facts(transport)

    def reload(self) -> None:
        self.carrier.reload()

    def _wait(self, port: Any) -> Deferred[Any]:
        is_producer = IPushProducer.providedBy(port)  # a vendor's port may be none, and accept

        def accept(_: None) -> Any:
            if is_producer:
                port.resumeProducing()
            return port

        def give_up(failure: Failure) -> Deferred[Failure]:
            return maybeDeferred(port.stopListening).addCallback(lambda _: failure)

        if is_producer:
            port.pauseProducing()
        return self.when_ready().addCallbacks(accept, give_up)
