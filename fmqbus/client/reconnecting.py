"""What do the clients of all protocols do alike? Each keeps one connection up, says everything again on a new one, and
lets what is to be sent wait meanwhile.

What that is, the client of each protocol knows, and its link what there is on the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.application.internet import ClientService, backoffPolicy
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocolFactory, IStreamClientEndpoint
from twisted.internet.task import deferLater

from fmqbus.client.link import Link
from fmqbus.client.outgoing import Outgoing
from fmqbus.errors import LocalError
from fmqbus.limits import Limits
from fmqbus.waiting import Waiters

#: Quick at first, since most interruptions are restarts; the jitter of up to a second keeps a crowd from
#: coming back all at once.
RETRY_POLICY = backoffPolicy(initialDelay=0.1, maxDelay=30.0)


class ReconnectingClient(Service):
    """The service, and what every client has."""

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        factory: IProtocolFactory,
        reactor: Any,
        limits: Limits,
        retry_policy: Callable[[int], float],
        outgoing: Outgoing[Any],
    ) -> None:
        """`factory` makes links that tell this client."""
        #: What the bus has said that cannot be understood, or is not a bus's to say; dropped.
        self.invalid = 0
        self._reactor = reactor
        self._limits = limits
        self._outgoing = outgoing
        self._link: Link | None = None
        self._disconnections = Waiters()
        self._connection = ClientService(endpoint, factory, retry_policy, clock=reactor)

    # what each protocol has to say

    async def sync(self) -> None:
        """Wait until the bus has taken in all that was sent so far."""
        raise NotImplementedError

    def greet(self, link: Any) -> None:
        """Say on a new connection all that the bus must know of us."""
        raise NotImplementedError

    def connection_gone(self, link: Any) -> None:
        """Forget what was only true of the connection that has gone."""
        raise NotImplementedError

    def forget_wishes(self) -> None:
        """The client stops: end what the application has asked for."""
        raise NotImplementedError

    # the service

    def startService(self) -> None:
        """Connect, and stay connected."""
        super().startService()
        self._outgoing.reopen()
        self._connection.startService()

    def stopService(self) -> Deferred[None]:
        """End all that was asked for, send what the transport has taken, and disconnect.

        The bus then publishes our wills. What still waits fails with `Detached`. A bus that does not read is cut off
        after `Limits.drain_seconds`.
        """
        super().stopService()
        self.forget_wishes()
        link, self._link = self._link, None
        self._outgoing.close()
        if link is not None:
            link.say_no_more(self._limits.drain_seconds)
        return self._connection.stopService()

    @property
    def is_connected(self) -> bool:
        """There is a connection now."""
        return self._link is not None

    async def when_connected(self, attempts: int | None = None) -> None:
        """Wait for a connection.

        After so many failed `attempts` in a row (None: never) raises what the last one failed with. Raises
        `CancelledError` when the client stops.
        """
        try:
            await self._connection.whenConnected(attempts)
        finally:
            # ClientService calls back in the middle of a step, in which it could not be stopped
            await deferLater(self._reactor, 0)

    def when_disconnected(self) -> Deferred[None]:
        """Return a Deferred that fires when the connection goes, on purpose or not."""
        return self._disconnections.wait()

    def when_room(self) -> Deferred[None]:
        """Return a Deferred that fires once a message would leave at once: at once if so. Await it before each, and you
        go no faster than the connection. Fails with `Detached` when the client stops."""
        return self._outgoing.when_room()

    # what links tell (`fmqbus.client.link.LinkOwner`)

    def link_made(self, link: Any) -> None:
        """Say everything again, before what waits."""
        self._link = link
        self.greet(link)
        self.room_changed(link)

    def link_lost(self, link: Any) -> None:
        """What is sent waits from now on."""
        self._link = None
        self._outgoing.pause()
        self.connection_gone(link)
        self._disconnections.fire()

    def room_changed(self, link: Any) -> None:
        """What is sent waits, or goes on."""
        if link.has_room:
            self._outgoing.resume(link.send)
        else:
            self._outgoing.pause()

    def _check_size(self, payload: bytes) -> None:
        if len(payload) > self._limits.body_octets:
            raise LocalError(f"a payload of {len(payload)} octets; at most {self._limits.body_octets} are sent")
