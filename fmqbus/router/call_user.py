"""One client's dealings with calls: what it has asked, what it serves, and what it has in hand. Made for those that
have any."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from fmqbus.calls import ABANDONED, REFUSED, Call, Parcel, Service
from fmqbus.errors import CallFailed, LocalError, Overloaded
from fmqbus.model import Action
from fmqbus.router.allowed import Allowed
from fmqbus.router.asked import Asked, Stage
from fmqbus.router.methods import Server

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session


class CallUser:
    """See `ISession`, which has the same words."""

    __slots__ = (
        "_asked",
        "_asked_octets",
        "_calling",
        "_held",
        "_is_full",
        "_limits",
        "_may_call",
        "_router",
        "_servers",
        "session",
    )

    def __init__(self, session: Session, router: Router) -> None:
        self.session = session
        self._router = router
        self._limits = router.limits
        self._calling = router.calling
        self._may_call = Allowed(session, Action.CALL)
        #: Its calls that have not ended, by number, and what they carry.
        self._asked: dict[int, Asked] = {}
        self._asked_octets = 0
        self._servers: dict[Service, Server] = {}
        #: Calls of others that it is to answer, by number, orphaned ones among them.
        self._held: dict[int, Asked] = {}
        #: It has as many in hand as it may, and until half of them are done gets no more.
        self._is_full = False

    # as the one who asks

    def call(self, method: bytes, parcel: Parcel, seconds: float | None, tag: Any) -> Asked:
        self._may_call.demand(method)
        if seconds is not None and not 0 < seconds < inf:
            raise LocalError(f"a deadline is a number of seconds, not {seconds}")
        octets = self._asked_octets + parcel.octets
        if len(self._asked) >= self._limits.calls_per_peer or octets > self._limits.call_octets_per_peer:
            raise Overloaded("too many calls of one client")
        return self._calling.ask(self, method, parcel, seconds, tag)

    def abandon(self, call: Call) -> None:
        asked = self._asked.get(call.number)
        if asked is not None:
            self._calling.break_off(asked, ABANDONED)

    def has_asked(self, call: Asked) -> None:
        """This call of it has begun."""
        self._asked[call.number] = call
        self._asked_octets += call.parcel.octets

    def has_ended(self, call: Asked) -> None:
        """And is over."""
        del self._asked[call.number]
        self._asked_octets -= call.parcel.octets

    def break_off(self, reason: str, detail: str) -> None:
        """All that it has asked ends."""
        for call in list(self._asked.values()):
            self._calling.break_off(call, reason, detail)

    # as the one who serves

    @property
    def can_take_calls(self) -> bool:
        """Its link is free, and its hands are not full."""
        return self.session.outbox.is_open and not self._is_full

    def serve(self, method: bytes, window: int, weight: int, tag: Any) -> Server:
        self.session.demand_at(Action.SERVE, method)
        if window < 1 or weight < 1:
            raise LocalError("a window and a weight are 1 or more")
        limits = self._limits
        if len(self._servers) >= limits.services_per_peer:
            raise Overloaded("too many services of one client")
        window, weight = min(window, limits.calls_in_hand_per_peer), min(weight, limits.consumer_weight)
        server = Server(method, window, weight, tag, user=self, home=None)
        self._calling.serve(server)
        self._servers[server] = server
        return server

    def unserve(self, service: Service) -> None:
        server = self._servers.pop(service, None)
        if server is not None:
            self._calling.unserve(server)

    def answer(self, call: Call, result: Parcel | CallFailed) -> bool:
        """See `ISession.reply` and `fail`."""
        held = self._held.get(call.number)
        if held is None or held.stage is Stage.CHOSEN or held.service is None:
            return False
        return self._calling.answer(held, held.service, result)

    def has_taken(self, call: Asked) -> None:
        """It has been chosen to answer this."""
        self._held[call.number] = call
        self._is_full = self._is_full or len(self._held) >= self._limits.calls_in_hand_per_peer
        self.session.outbox.put(call, (), call.asker.session)

    def has_let_go(self, call: Asked) -> None:
        """It has this in hand no longer."""
        del self._held[call.number]
        if self._is_full and len(self._held) * 2 <= self._limits.calls_in_hand_per_peer:
            self._is_full = False
            self.look_at_services()

    def hand_over(self, calls: Sequence[Asked]) -> bool:
        """These, which were on their way, have come to the link. False if the peer cannot take them."""
        handed = self._calling.hand_over(self, calls)
        if not handed:
            return True
        if self._router.observers:
            self._router.tell("called", self.session, handed)
        return self.session.tell_peer("called", handed)

    def find_another(self, call: Asked) -> None:
        """The link is full: this, which was on its way, is for somebody else."""
        if call.stage is Stage.CHOSEN and call.service is not None and call.service.user is self:
            self._calling.find_another(call, call.service)

    def look_at_services(self) -> None:
        """They may have room again."""
        for server in self._servers.values():
            self._calling.look_at(server)

    # changes and the end

    def end_forbidden(self) -> list[Service]:
        """The policy has changed: end what is no longer allowed; returns the services among it."""
        self._may_call.forget()
        principal, authorize = self.session.principal, self._router.authorize
        for call in list(self._asked.values()):
            if call.stage in (Stage.WAITING, Stage.CHOSEN) and not authorize(principal, Action.CALL, call.method):
                self._calling.break_off(call, REFUSED, "calling this is no longer allowed")
        ended = [server for server in self._servers.values() if not authorize(principal, Action.SERVE, server.method)]
        for server in ended:
            self.unserve(server)
        for call in list(self._held.values()):
            if call.service in ended:
                self._calling.lose(call, call.service)
        return list(ended)

    def close(self) -> Iterator[None]:
        """The client has gone; a step for each thing that ends."""
        for server in list(self._servers):
            self.unserve(server)
            yield
        for call in list(self._held.values()):
            # others are served between the steps, and time goes on: it may be over by now
            if call.number in self._held and call.service is not None:
                self._calling.lose(call, call.service)
            yield
        for call in list(self._asked.values()):
            if call.number in self._asked:
                self._calling.break_off(call, ABANDONED)
            yield
