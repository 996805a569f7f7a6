"""What may a client ask for now? (MTL, Client Authentication; Selecting a Profile; Requesting a Data Lease)

============= ============================ ======================================================
state         it is                        what may be asked besides Connection.Open
============= ============================ ======================================================
unopened      nothing was said             nothing
unauthorized  a login is wanted            Authorize
challenged    a SASL exchange is under way Authorize; whatever else is said ends the exchange
ready         opened, and logged in        Authorize, Profile
profiled      a profile is chosen          Authorize, Profile, Reader, Writer
============= ============================ ======================================================

Open begins anew, whenever it comes (reading 5). A login that is no longer good leaves the profile as it is, so that the
same user goes on where he was (reading 15). Whoever begins a login when he has one, has none until it succeeds.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from fmqbus.errors import LocalError
from fmqbus.protocols.mtl.commands import Authorize, Open, Profile, Reader, Request, Writer
from fmqbus.protocols.mtl.statuses import Status


class State(enum.Enum):
    """How far a client has come."""

    UNOPENED = "unopened"
    UNAUTHORIZED = "unauthorized"
    CHALLENGED = "challenged"
    READY = "ready"
    PROFILED = "profiled"


class Event(enum.Enum):
    """What has happened to a request that could be asked, or to a login."""

    #: Open, where nobody has to log in, and where one has to.
    ADMITTED = "admitted"
    LOGIN_WANTED = "login wanted"
    #: Authorize: the exchange goes on, has succeeded, has failed; or its end for any other reason, such as time.
    CHALLENGED = "challenged"
    AUTHORIZED = "authorized"
    LOGIN_LOST = "login lost"
    #: Profile.
    CHOSEN = "chosen"


_BAD, _LOGIN = Status.BAD_REQUEST, Status.UNAUTHORIZED

#: By what a request is refused; None where it is not (readings 6 and 23).
REFUSALS: Mapping[State, Mapping[type[Request], Status | None]] = {
    State.UNOPENED: {Open: None, Authorize: _BAD, Profile: _BAD, Reader: _BAD, Writer: _BAD},
    State.UNAUTHORIZED: {Open: None, Authorize: None, Profile: _LOGIN, Reader: _LOGIN, Writer: _LOGIN},
    State.CHALLENGED: {Open: None, Authorize: None, Profile: _LOGIN, Reader: _LOGIN, Writer: _LOGIN},
    State.READY: {Open: None, Authorize: None, Profile: None, Reader: _BAD, Writer: _BAD},
    State.PROFILED: {Open: None, Authorize: None, Profile: None, Reader: None, Writer: None},
}

_AFTER_OPEN = {Event.ADMITTED: State.READY, Event.LOGIN_WANTED: State.UNAUTHORIZED}
_IN_LOGIN = {
    **_AFTER_OPEN,
    Event.CHALLENGED: State.CHALLENGED,
    Event.AUTHORIZED: State.READY,
    Event.LOGIN_LOST: State.UNAUTHORIZED,
}
#: Where events lead; those that are missing cannot happen. Who has a profile is `PROFILED` where `READY` stands.
TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.UNOPENED: _AFTER_OPEN,
    State.UNAUTHORIZED: _IN_LOGIN,
    State.CHALLENGED: _IN_LOGIN,
    State.READY: {**_IN_LOGIN, Event.CHOSEN: State.PROFILED},
    State.PROFILED: {**_IN_LOGIN, Event.CHOSEN: State.PROFILED},
}


class Conversation:
    """How far one client has come, on the control flow."""

    __slots__ = ("_is_login_wanted", "profile", "state")

    def __init__(self, is_login_wanted: bool) -> None:
        """Whether whoever opens has to log in."""
        self._is_login_wanted = is_login_wanted
        self.state = State.UNOPENED
        #: The chosen one; empty for none.
        self.profile = ""

    def refusal(self, request: type[Request]) -> Status | None:
        """By what a request is refused now; None if it may be asked. Before Open that is 401 where one has to log in,
        so that a client knows what is coming (reading 6)."""
        status = REFUSALS[self.state][request]
        if status is not None and self.state is State.UNOPENED and self._is_login_wanted:
            return Status.UNAUTHORIZED
        return status

    def asked(self, request: type[Request]) -> Status | None:
        """The same when it is asked: other requests end a SASL exchange."""
        status = self.refusal(request)
        if self.state is State.CHALLENGED and request is not Authorize:
            self.state = State.UNAUTHORIZED
        return status

    def opened(self) -> None:
        """Open is accepted: all begins anew."""
        self.profile = ""
        self._go(Event.LOGIN_WANTED if self._is_login_wanted else Event.ADMITTED)

    def chosen(self, profile: str) -> None:
        """There is such a profile. (reading 16)"""
        self._go(Event.CHOSEN)
        self.profile = profile

    def challenged(self) -> None:
        """A SASL exchange goes on."""
        self._go(Event.CHALLENGED)

    def authorized(self, is_same_user: bool) -> None:
        """A SASL exchange has succeeded. The profile is another user's if that was one."""
        if not is_same_user:
            self.profile = ""
        self._go(Event.AUTHORIZED)

    def login_lost(self) -> None:
        """It has failed, or what it had led to is no longer good."""
        self._go(Event.LOGIN_LOST)

    def _go(self, event: Event) -> None:
        state = TRANSITIONS[self.state].get(event)
        if state is None:
            raise LocalError(f"{event.value} when {self.state.value}")
        self.state = State.PROFILED if state is State.READY and self.profile else state
