"""A stream connection whose other half is a session of the bus: what all such protocols have in common.

The bus is told of the link's state, and closes the session when the link has gone. All that one read brought is acted
on, then everything that gathered for anybody is handed over in one flush: the unit of work is the read, not the
message. Knows no messages.
"""

from __future__ import annotations

from collections.abc import Iterator

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from fmqbus.errors import Refused
from fmqbus.interfaces import IListener, IRouter, ISession
from fmqbus.transports.assembly import AssemblingStream

_log = Logger()


class SessionStream(AssemblingStream):
    """One connection of one client; the protocol overrides `attach`, `act_on`, `held` and
    `forget_half_received`, and `let_go` if there is a circle."""

    #: None where the bus has turned the client away, and once the link has gone.
    bus: ISession | None = None

    def __init__(self, router: IRouter, listener: IListener) -> None:
        super().__init__(listener, router.turns)
        self.router = router

    # for the protocol

    def attach(self) -> ISession:
        """Begin the client's session; `facts` are known. Raises `Refused` as the router does."""
        raise NotImplementedError

    def act_on(self, data: bytes) -> Iterator[None]:
        """Act on all that a read brought, in steps; see `take_steps`."""
        raise NotImplementedError

    def let_go(self) -> None:
        """The link has gone, and the session has ended. Forget here what this link has and what has this link: it would
        all stay in memory until garbage is collected."""

    # what the link tells

    def link_made(self) -> None:
        try:
            self.bus = self.attach()
        except Refused as error:
            _log.info("a client is turned away: {error}", error=error)
            self.abort("refused")
        else:
            self.bus.flush()

    def octets_arrived(self, data: bytes) -> None:
        if self.bus is not None:
            self.take_steps(self._act_on(data))

    def _act_on(self, data: bytes) -> Iterator[None]:
        yield from self.act_on(data)
        self.account()

    def turn_over(self) -> None:
        if self.bus is not None:
            self.bus.flush()

    def link_full(self) -> None:
        if self.bus is not None:
            self.bus.pause_delivery()

    def link_clear(self) -> None:
        if self.bus is not None:
            self.bus.resume_delivery()

    def link_lost(self, reason: str) -> None:
        self.release()
        if self.bus is not None:
            self.bus.close(reason)
            self.bus = None
            self.let_go()

    def when_sent(self) -> Deferred[None]:
        assert self.bus is not None, "a link without a session is aborted"
        return self.bus.when_delivered()
