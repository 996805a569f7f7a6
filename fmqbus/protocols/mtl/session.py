"""One client on the control flow: how far it has come, as whom, and what it is answered. (MTL, Control Flow)

A session is one routing identity's, from its first accepted Open until nobody has used it for a while: ROUTER tells
nothing of clients that go (reading 1). What it was given outlives it, see `fmqbus.protocols.mtl.owner`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from fmqbus.errors import BusError, Refused
from fmqbus.interfaces import ILogins, IMTLProfile, IRouter
from fmqbus.logins import Admitted, Challenge
from fmqbus.model import Origin, Principal
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Challenged,
    DataLease,
    Done,
    Flow,
    Profile,
    Reader,
    Ready,
    Reply,
    Request,
    Unauthorized,
    Writer,
    declined,
)
from fmqbus.protocols.mtl.conversation import Conversation
from fmqbus.protocols.mtl.leases import Grant, Kind, Leases
from fmqbus.protocols.mtl.login import Login, Step
from fmqbus.protocols.mtl.owner import Owner
from fmqbus.protocols.mtl.statuses import Declined, Status
from fmqbus.protocols.mtl.virtual_hosts import VirtualHost

PROTOCOL = "mtl"


@attrs.frozen
class Place:
    """What all clients of one place have in common."""

    router: IRouter
    #: None where nobody can log in.
    logins: ILogins | None
    #: Whoever opens has to log in.
    is_login_required: bool
    profiles: Mapping[str, IMTLProfile]
    leases: Leases[Owner]
    #: Of data flows.
    port: int
    #: Told of what was asked and is not done.
    refused: Callable[[BusError], None]

    def now(self) -> float:
        """The bus's clock, in seconds."""
        now: float = self.router.clock.seconds()
        return now

    def mechanisms(self, origin: Origin) -> Sequence[str]:
        """By which this client may log in."""
        return () if self.logins is None else self.logins.offered(origin.facts)

    def begin(self, origin: Origin) -> Conversation:
        """With somebody who has said nothing. Whom the carrier has let in as a user need not log in again."""
        is_known = origin.facts.user is not None
        return Conversation(self.is_login_required and self.logins is not None and not is_known)

    def no(self, status: Status, origin: Origin) -> Reply:
        """What says no."""
        if status is Status.UNAUTHORIZED:
            return Unauthorized(tuple(self.mechanisms(origin)))
        return declined(status)


class Session:
    """One client that has opened."""

    def __init__(self, place: Place, origin: Origin, host: VirtualHost, reply: Callable[[Reply], None]) -> None:
        """`reply` is how it is answered."""
        self.origin = origin
        self._place = place
        self._reply = reply
        self._conversation = place.begin(origin)
        self._peer = Principal(PROTOCOL, origin.facts)
        self._owner = Owner(place.router, self._peer, host)
        self._login: Login | None = None
        self._conversation.opened()
        refusal = self._conversation.refusal(Profile)
        reply(self._ready() if refusal is None else place.no(refusal, origin))

    def asked(self, request: Request) -> None:
        """Something other than Open. Whatever the bus says no to is answered here. Raises what was not done."""
        if self._login is not None and self._login.is_busy:
            # one reply to each request: also to one that did not wait for it
            self._fail(Refused("the login was not waited for", "login-abandoned"))
        status = self._conversation.asked(type(request))
        if status is not None:
            self._reply(self._place.no(status, self.origin))
            raise Declined(status, f"{request.command} when {self._conversation.state.value}", "state")
        if not isinstance(request, Authorize):
            self._close_login()
        _ASKED[type(request)](self, request)

    def refuse(self, status: Status) -> None:
        """What it said is invalid."""
        self._reply(self._place.no(status, self.origin))

    def close(self) -> None:
        """It has ended, or begins anew. A step of a login that is under way is answered all the same."""
        if self._login is not None and self._login.is_busy:
            self._close_login()
            self._reply(self._place.no(Status.UNAUTHORIZED, self.origin))
        self._close_login()
        self._place.leases.revoke(self._owner)
        self._owner.part()

    def _ready(self) -> Ready:
        return Ready(tuple(self._place.profiles))

    # logging in

    def _authorize(self, authorize: Authorize) -> None:
        place, login = self._place, self._login
        if place.logins is None:
            self._reply(Unauthorized(()))
            raise Refused("nobody can log in here", "mechanism")
        now = place.now()
        if login is None or login.mechanism != authorize.mechanism:
            self._close_login()
            try:
                login = Login(place.logins, authorize.mechanism, self._peer, now, place.router.limits.handshake_seconds)
            except Refused as refused:
                self._fail(refused)
                return
            self._login = login
        login.step(authorize, now, self._stepped)

    def _stepped(self, step: Step) -> None:
        match step:
            case Challenge(octets):
                assert self._login is not None, "a challenge is of a login"
                self._conversation.challenged()
                self._reply(Challenged(self._login.mechanism, octets))
            case Admitted(principal):
                self._close_login()
                self._admit(principal)
                self._reply(self._ready())
            case _:
                self._fail(step)

    def _admit(self, principal: Principal) -> None:
        owner = self._owner
        is_same_user = principal.identity is not None and principal.identity == owner.principal.identity
        if not is_same_user:
            self._place.leases.revoke(owner)
            owner.end_flows("another user")
            owner.part()
            self._owner = owner = Owner(self._place.router, principal, owner.host)
        assert self._place.logins is not None, "who is admitted has logged in"
        owner.resume(principal, self._place.logins.stand(principal, self._revoked))
        self._conversation.authorized(is_same_user)

    def _revoked(self) -> None:
        """What is known of this user has changed (reading 15)."""
        self._close_login()
        self._conversation.login_lost()
        self._owner.suspend()

    def _fail(self, error: BusError) -> None:
        self._close_login()
        self._conversation.login_lost()
        self._reply(self._place.no(Status.UNAUTHORIZED, self.origin))
        self._place.refused(error)

    def _close_login(self) -> None:
        if self._login is not None:
            self._login.close()
            self._login = None

    # profiles and leases

    def _choose(self, profile: Profile) -> None:
        if profile.profile not in self._place.profiles:
            self._reply(declined(Status.BAD_REQUEST))
            raise Declined(Status.BAD_REQUEST, f"profile {profile.profile[:40]!r}", "profile")
        self._conversation.chosen(profile.profile)
        self._reply(Done())

    def _lease(self, flow: Flow) -> None:
        try:
            token = self._place.leases.give(self._grant(flow), self._place.now())
        except BusError as error:
            self._reply(declined(error.status if isinstance(error, Declined) else Status.BAD_REQUEST))
            raise
        self._reply(DataLease(self._place.port, token))

    def _grant(self, flow: Flow) -> Grant[Owner]:
        """What a lease is to be good for. Raises a `BusError` if there is none to be had."""
        profile = self._place.profiles[self._conversation.profile]
        is_reader = isinstance(flow, Reader)
        if flow.is_confirmed and not (profile.confirms_readers if is_reader else profile.confirms_writers):
            raise Declined(Status.NOT_IMPLEMENTED, "the profile does not confirm", "confirm")
        # in a profile that has its own, any and all are those (reading 19)
        resources = flow.resources or tuple(profile.resources)
        for resource in resources:
            if profile.resources and resource not in profile.resources:
                raise Declined(Status.BAD_REQUEST, "a resource that the profile does not have", "resource")
            profile.demand(self._owner, is_reader, resource)
        return Grant(
            owner=self._owner,
            kind=Kind.READER if is_reader else Kind.WRITER,
            profile=self._conversation.profile,
            resources=frozenset(resources),
            is_confirmed=flow.is_confirmed,
            window=flow.window if isinstance(flow, Reader) else 0,
        )


_ASKED: Mapping[type[Request], Callable[[Session, Any], None]] = {
    Authorize: Session._authorize,
    Profile: Session._choose,
    Reader: Session._lease,
    Writer: Session._lease,
}
