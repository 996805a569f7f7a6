"""What does a client say on MTL's control flow, and what do the replies to it mean? No I/O, no clock.

One request is under way at a time (MTL, General Operation). The states are what the reply is to:

=========== ================================ ====================================================================
state       reply                            then
=========== ================================ ====================================================================
opening     201 Ready                        idle; with a login, authorizing: we want to be who we are
opening     401 Unauthorized                 authorizing
authorizing 402 Challenged                   computing, or at once authorizing
authorizing 201 Ready                        idle
authorizing 401 Unauthorized                 authorizing by another mechanism, if there is one; else it has failed
choosing    200 OK                           leasing
leasing     202 Data Lease                   idle; the wish has its lease
choosing    400                              once, opening, and then the wish again
either      401 Unauthorized                 the same
either      any other                        idle; the wish is refused
idle        any                              nothing: it answers nothing
computing   any                              the same
=========== ================================ ====================================================================

Whatever is not in the table ends the session. A login may be wanted again at any time (reading 15), and a broker
forgets who is silent for long (reading 1); it says 401 to both, or 400 where nobody has to log in (reading 6). To open
again is right in each case, since flows outlive it. While the session is idle and somebody wants a lease, that is asked
for: its profile first, since each lease keeps the profile it was asked for under (reading 16).
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from fmqbus.client.sasl import MOST_ROUNDS, Exchange, Login, Work
from fmqbus.errors import BusError, PeerError, Refused
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Challenged,
    DataLease,
    Done,
    Failed,
    Flow,
    Open,
    Profile,
    Ready,
    Reply,
    Request,
    Unauthorized,
)
from fmqbus.protocols.mtl.statuses import Status


class State(enum.Enum):
    """What the next reply answers. See the table at the head of this file."""

    OPENING = "opening"
    AUTHORIZING = "authorizing"
    COMPUTING = "computing"
    CHOOSING = "choosing"
    LEASING = "leasing"
    IDLE = "idle"
    ENDED = "ended"


@attrs.define(eq=False)
class Wish:
    """A lease that somebody wants."""

    #: In lower case.
    profile: str
    flow: Flow
    #: The session was opened, or the login made, anew for it.
    was_retried: bool = False


@attrs.frozen
class Opened:
    """The client is let in."""


@attrs.frozen
class Leased:
    """A wish has its lease."""

    wish: Wish
    port: int
    lease: bytes


@attrs.frozen
class Denied:
    """A wish is refused."""

    wish: Wish
    error: BusError


@attrs.frozen
class Ended:
    """The session is of no use any more."""

    error: BusError


Event = Opened | Leased | Denied | Ended


class Control:
    """One session. After each call, `take_request` and `take_work` tell what is to be done."""

    def __init__(self, virtual_host: str, login: Login | None, is_private: bool) -> None:
        """`is_private` tells whether nobody else can listen."""
        self.state = State.IDLE
        #: Those that the bus has, in lower case.
        self.profiles: Sequence[str] = ()
        self._virtual_host = virtual_host
        self._login = login
        self._is_private = is_private
        self._wishes: deque[Wish] = deque()
        #: The one that is being asked for; None also if it was withdrawn meanwhile.
        self._asked: Wish | None = None
        self._request: Request | None = None
        self._work: Work | None = None
        self._mechanism = ""
        self._tried: list[str] = []
        self._exchange: Exchange | None = None
        self._rounds = 0

    # what is to be done

    def take_request(self) -> Request | None:
        """What is to be said now."""
        request, self._request = self._request, None
        return request

    def take_work(self) -> Work | None:
        """What is to be computed now; `computed` or `failed` takes what comes of it."""
        work, self._work = self._work, None
        return work

    @property
    def is_waiting(self) -> bool:
        """Whether the bus owes a reply."""
        return self.state not in (State.IDLE, State.COMPUTING, State.ENDED)

    # what the client does

    def open(self) -> None:
        """Begin, or begin anew (MTL, Client Authentication)."""
        self._say(State.OPENING, Open(self._virtual_host))

    def want(self, wish: Wish) -> None:
        """Somebody wants a lease."""
        self._wishes.append(wish)

    def withdraw(self, wish: Wish) -> None:
        """He does not want it any more. A lease that is under way all the same is nobody's; it ends by itself."""
        if wish is self._asked:
            self._asked = None
        elif wish in self._wishes:
            self._wishes.remove(wish)

    def go_on(self) -> list[Event]:
        """Ask for the next lease, if that can be."""
        events: list[Event] = []
        while self.state is State.IDLE and self._wishes:
            wish = self._wishes.popleft()
            if wish.profile in self.profiles:
                self._asked = wish
                self._say(State.CHOOSING, Profile(wish.profile))
            else:
                names = ", ".join(self.profiles) or "none"
                events.append(Denied(wish, Refused(f"the bus has no profile {wish.profile}; it has {names}")))
        return events

    def computed(self, response: bytes) -> None:
        """The answer to a challenge."""
        if self.state is State.COMPUTING:
            self._say(State.AUTHORIZING, Authorize(self._mechanism, response))

    def end(self, error: BusError) -> list[Event]:
        """Nothing more is said or understood."""
        self.state = State.ENDED
        self._request = self._work = None
        return [Ended(error)]

    # what the bus says

    def heard(self, reply: Reply) -> list[Event]:
        """A reply has come. Raises `PeerError` for one that answers nothing."""
        if not self.is_waiting:
            raise PeerError(f"{type(reply).__name__} in answer to nothing", "reply")
        act = _HEARD.get((self.state, type(reply)), Control._other)
        try:
            return [*act(self, reply), *self.go_on()]
        except (PeerError, Refused) as error:
            return self.end(error)

    def _say(self, state: State, request: Request) -> None:
        self.state = state
        self._request = request

    def _ready(self, ready: Ready) -> list[Event]:
        self.profiles = tuple(profile.lower() for profile in ready.profiles)
        if self.state is State.OPENING and self._login is not None:
            self._tried.clear()
            self._begin_login(self._login, None)
            return []
        if self._exchange is not None and not self._exchange.is_content:
            raise PeerError("the bus lets us in, and has not proved that it knows the password", "login")
        self._exchange = None
        self.state = State.IDLE
        return [Opened()]

    def _login_wanted(self, unauthorized: Unauthorized) -> list[Event]:
        """At the beginning, and when it has failed."""
        if self._login is None:
            raise Refused(f"the bus wants a login by {', '.join(unauthorized.mechanisms)}, and we have none")
        if self.state is State.AUTHORIZING and self._mechanism in unauthorized.mechanisms:
            raise Refused("the login has failed")
        if self.state is State.OPENING:
            self._tried.clear()
        self._begin_login(self._login, unauthorized.mechanisms)
        return []

    def _begin_login(self, login: Login, offered: Sequence[str] | None) -> None:
        self._mechanism = login.choose(offered, self._is_private, self._tried)
        self._tried.append(self._mechanism)
        self._exchange = login.begin(self._mechanism)
        self._rounds = 0
        self._say(State.AUTHORIZING, Authorize(self._mechanism, self._exchange.first()))

    def _challenged(self, challenged: Challenged) -> list[Event]:
        self._rounds += 1
        if self._exchange is None or challenged.mechanism != self._mechanism or self._rounds > MOST_ROUNDS:
            raise PeerError("a challenge of another mechanism, or one too many", "login")
        answer = self._exchange.answer(challenged.challenge)
        if isinstance(answer, Work):
            self.state, self._work = State.COMPUTING, answer
        else:
            self._say(State.AUTHORIZING, Authorize(self._mechanism, answer))
        return []

    def _chosen(self, done: Done) -> list[Event]:
        if self._asked is None:
            self.state = State.IDLE
        else:
            self._say(State.LEASING, self._asked.flow)
        return []

    def _leased(self, lease: DataLease) -> list[Event]:
        wish = self._answered()
        return [] if wish is None else [Leased(wish, lease.port, lease.lease)]

    def _login_lost(self, unauthorized: Unauthorized) -> list[Event]:
        if self._may_retry():
            self.open()
            return []
        return self._denied(Failed(Status.UNAUTHORIZED.value, Status.UNAUTHORIZED.text))

    def _not_chosen(self, failed: Failed) -> list[Event]:
        if failed.code == Status.BAD_REQUEST.value and self._may_retry():
            self.open()
            return []
        return self._denied(failed)

    def _denied(self, failed: Failed) -> list[Event]:
        wish = self._answered()
        return [] if wish is None else [Denied(wish, Refused(f"the bus says {failed.code} {failed.text}"))]

    def _answered(self) -> Wish | None:
        """There is nothing more to be asked for it."""
        self.state = State.IDLE
        wish, self._asked = self._asked, None
        return wish

    def _may_retry(self) -> bool:
        """It is asked for again, before all others."""
        wish = self._asked
        if wish is None or wish.was_retried:
            return False
        wish.was_retried = True
        self._wishes.appendleft(wish)
        self._asked = None
        return True

    def _other(self, reply: Reply) -> list[Event]:
        if isinstance(reply, Failed):
            raise Refused(f"the bus says {reply.code} {reply.text}")
        raise PeerError(f"{type(reply).__name__} when {self.state.value}", "reply")


_HEARD: Mapping[tuple[State, type[Reply]], Callable[[Control, Any], list[Event]]] = {
    (State.OPENING, Ready): Control._ready,
    (State.OPENING, Unauthorized): Control._login_wanted,
    (State.AUTHORIZING, Challenged): Control._challenged,
    (State.AUTHORIZING, Ready): Control._ready,
    (State.AUTHORIZING, Unauthorized): Control._login_wanted,
    (State.CHOOSING, Done): Control._chosen,
    (State.CHOOSING, Failed): Control._not_chosen,
    (State.CHOOSING, Unauthorized): Control._login_lost,
    (State.LEASING, DataLease): Control._leased,
    (State.LEASING, Failed): Control._denied,
    (State.LEASING, Unauthorized): Control._login_lost,
}
