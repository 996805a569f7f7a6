"""One connection of an MTL client: a session, and the data flows that were leased in it. Knows nothing that outlives
it.

If one flow is lost, all is: the broker has started anew, or the network has failed. Then everything is asked for again,
over new sockets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import Protocol as Contract

from twisted.internet import protocol
from twisted.internet.error import TimeoutError
from twisted.python.failure import Failure

from fmqbus.client.mtl_control import Wish
from fmqbus.client.mtl_data_link import DataLink, FlowUser
from fmqbus.client.mtl_session import Session
from fmqbus.errors import BusError
from fmqbus.limits import Limits
from fmqbus.protocols.mtl.presence import SILENT_PINGS, Presence

#: Shorter than the broker's own, so that a client finds out soon that the broker has started anew.
PING_SECONDS = 5.0


class MTLLinkOwner(Contract):
    """What the connection tells, and to whom."""

    invalid: int

    def link_made(self, link: Any) -> None:
        """The client is let in."""

    def link_lost(self, link: Any) -> None:
        """The connection has gone."""


class MTLLink(protocol.Protocol):
    """To Twisted, the protocol on the connection."""

    transport: Session  # type: ignore[assignment]

    def __init__(
        self,
        owner: MTLLinkOwner,
        reactor: Any,
        limits: Limits,
        answer_seconds: float,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        self._owner = owner
        self._reactor = reactor
        self._limits = limits
        self._answer_seconds = answer_seconds
        self._ping_seconds = ping_seconds
        self._presence: Presence[DataLink] = Presence(ping_seconds, SILENT_PINGS)
        self._wishes: dict[FlowUser, Wish] = {}
        self._flows: dict[FlowUser, DataLink] = {}
        self._leaving: dict[DataLink, None] = {}
        self._is_winding_up = False
        self._timer: Any = None
        self._cut_off: Any = None

    def begin(self, session: Session) -> None:
        """Take over a session that is open."""
        self._session = session

    @property
    def profiles(self) -> Sequence[str]:
        """Those that the broker has."""
        return self._session.profiles

    # what the client does

    def want(self, user: FlowUser) -> None:
        """Ask for a flow."""
        wish = self._wishes[user] = Wish(user.profile, user.flow)
        self._session.want(wish)

    def leave(self, user: FlowUser, resources: list[bytes]) -> None:
        """It is wanted no more: nothing is to come of these resources, and what is in hand goes back."""
        if (wish := self._wishes.pop(user, None)) is not None:
            self._session.withdraw(wish)
        if (data := self._flows.pop(user, None)) is not None:
            self._leaving[data] = None
            data.leave(resources)

    def say_no_more(self, seconds: float) -> None:
        """Everything has been left. If the broker does not answer within so many seconds, that is the end too."""
        if self._cut_off is None:
            self._cut_off = self._reactor.callLater(seconds, self._close)

    # what the session tells

    def connectionMade(self) -> None:
        self._tick()
        self._owner.link_made(self)

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        for timer in (self._timer, self._cut_off):
            if timer is not None and timer.active():
                timer.cancel()
        users = [*self._wishes, *self._flows]
        for data in (*self._flows.values(), *self._leaving):
            data.close()
        self._wishes.clear()
        self._flows.clear()
        self._leaving.clear()
        for user in users:
            user.flow_lost()
        self._owner.link_lost(self)

    def leased(self, wish: Wish, port: int, lease: bytes) -> None:
        """A flow can begin."""
        user = next((user for user, each in self._wishes.items() if each is wish), None)
        if user is None:
            return
        del self._wishes[user]
        data = DataLink(self, user, self._reactor, self._limits, self._session, port, lease)
        self._flows[user] = data
        self._presence.came(data, self._now)
        user.flow_begun(data)

    def denied(self, wish: Wish, error: BusError) -> None:
        """It will not."""
        user = next((user for user, each in self._wishes.items() if each is wish), None)
        if user is not None:
            del self._wishes[user]
            user.flow_denied(error)

    def wind_up(self) -> None:
        """Close when all flows are left."""
        self._is_winding_up = True
        for user in list(self._flows):
            self.leave(user, [])
            user.flow_lost()
        self._close_if_left()

    # what the flows tell

    def told(self, data: DataLink) -> None:
        self._presence.told(data, self._now)

    def heard(self, data: DataLink) -> None:
        self._presence.heard(data, self._now)

    def incorrect(self) -> None:
        self._owner.invalid += 1

    def ended(self, data: DataLink, error: BusError) -> None:
        """One is of no use, so all begins anew; unless nobody wants it any more."""
        if data in self._leaving:
            self.left(data)
        else:
            self._session.fail(error)

    def left(self, data: DataLink) -> None:
        self._presence.left(data)
        if data in self._leaving:
            del self._leaving[data]
            data.close()
        self._close_if_left()

    def _close_if_left(self) -> None:
        if self._is_winding_up and not self._flows and not self._leaving:
            self._close()

    def _close(self) -> None:
        for data in (*self._flows.values(), *self._leaving):
            data.close()
        self._flows.clear()
        self._leaving.clear()
        self._session.close()

    def _tick(self) -> None:
        """Ask those who say nothing; who does not answer has gone."""
        self._timer = self._reactor.callLater(self._ping_seconds / 2, self._tick)
        now = self._now
        silent = {*self._presence.silent(now), *filter(self._is_overdue, (*self._flows.values(), *self._leaving))}
        if not silent.isdisjoint(self._flows.values()):
            self._session.fail(TimeoutError("the bus has not answered on a data flow"))
            return
        for data in silent:
            self.left(data)
        for data in self._presence.to_ping(now):
            data.ask()

    def _is_overdue(self, data: DataLink) -> bool:
        return self._now - data.owed_since(self._now) >= self._answer_seconds

    @property
    def _now(self) -> float:
        seconds: float = self._reactor.seconds()
        return seconds
