"""How does a client log in? Whatever the mechanism, and whatever protocol carries it.

1. The client names a mechanism; it is one that the operator wants, on a link that it is fit for.
2. Exchange and client answer each other, a bounded number of times, each within bounds of size and time.
3. What takes long is done in a thread (`fmqbus.auth.sasl.labour`).
4. Those who fail have to wait, more each time (`fmqbus.auth.sasl.attempts`). Whether they have is looked at before
   anything is tried.
5. At its end a name is proved or not. If so, the client acts as it, in the groups that the file of users knows.
6. Where the file is read again and says something else of a user, those who act as that user have to log in anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.auth.sasl.attempts import Attempts
from fmqbus.auth.sasl.labour import Labour
from fmqbus.auth.users import Users
from fmqbus.errors import Overloaded, Refused
from fmqbus.interfaces import ILogin, ILogins, ISASLExchange, ISASLMechanism
from fmqbus.limits import Limits
from fmqbus.logins import MOST_NAME_OCTETS, Admitted, Challenge, Failed, Later, Proved, Step, Work, is_private
from fmqbus.model import PeerFacts, Principal

#: Questions to others that are open at a time.
_ASKED_AT_ONCE = 32

#: Challenges of one login. SCRAM needs two, one of them to begin with.
MOST_ROUNDS = 8

_log = Logger()

#: What clients are told. Nothing in it depends on whether there is such a user.
_TEXTS: Mapping[str, str] = {
    "busy": "too many logins at a time",
    "paused": "too many logins have failed; wait",
    "time": "the login has taken too long",
    "unreadable": "the login cannot be read",
}

#: It needs no users, and proves no name.
_ANONYMOUS = "ANONYMOUS"

#: Reasons that are nobody's guess.
_INNOCENT = frozenset({"busy", "changed", "paused", "time"})


@implementer(ILogins)
class Logins:
    """See `ILogins`. `host_of` tells what to count failures by."""

    def __init__(
        self,
        clock: Any,
        mechanisms: Sequence[ISASLMechanism],
        users: Users,
        limits: Limits,
        host_of: Callable[[PeerFacts], str],
        passwords_anywhere: bool = False,
    ) -> None:
        """`mechanisms` are the only ones there are, in the order in which they are offered."""
        self.clock = clock
        self.limits = limits
        self.users = users
        self.attempts = Attempts(limits.failed_logins)
        self.labour = Labour(clock, limits.logins_waiting)
        #: Those who are asked and answer when they like.
        self.others = Labour(clock, limits.logins_waiting, _ASKED_AT_ONCE, in_threads=False)
        self.host_of = host_of
        #: How many logins there have been, by mechanism and end: ``admitted``, or the reason.
        self.ended: Counter[tuple[str, str]] = Counter()
        self._mechanisms = {mechanism.name: mechanism for mechanism in mechanisms}
        self._passwords_anywhere = passwords_anywhere
        #: Users that the file has known since the start, and knows no more.
        self._removed: set[str] = set()
        self._standing: dict[object, tuple[str, Callable[[], None]]] = {}

    def offered(self, facts: PeerFacts) -> Sequence[str]:
        return [name for name, mechanism in self._mechanisms.items() if self._is_fit(mechanism, facts)]

    def _is_fit(self, mechanism: ISASLMechanism, facts: PeerFacts) -> bool:
        return self._passwords_anywhere or not mechanism.shows_password or is_private(facts)

    def begin(self, mechanism: str, peer: Principal) -> Login:
        if mechanism not in self.offered(peer.facts):
            offered = ", ".join(self.offered(peer.facts)) or "none"
            raise Refused(f"no such mechanism here; there is: {offered}", "mechanism")
        return Login(self, self._mechanisms[mechanism], peer)

    def vouched(self, peer: Principal) -> Principal:
        known = self.users.known_by(peer) if "EXTERNAL" in self._mechanisms else ()
        if len(known) != 1:
            return peer
        return attrs.evolve(peer, identity=known[0], groups=self.users.groups_of(known[0]))

    def stand(self, principal: Principal, revoked: Callable[[], None]) -> Callable[[], None]:
        if principal.identity is None:
            return lambda: None
        key = object()
        self._standing[key] = (principal.identity, revoked)
        return lambda: (self._standing.pop(key, None), None)[1]

    def as_of_now(self, principal: Principal) -> Principal | None:
        """Who it is by now, for whom the bus acts while it is not there: in the groups that the file of users tells
        now. None if it is not there any more, and nobody else could have vouched for its name."""
        name = principal.identity
        if name is None:
            return principal
        if self.users.knows(name):
            return attrs.evolve(principal, groups=self.users.groups_of(name))
        return principal if self._knows_others and name not in self._removed else None

    @property
    def _knows_others(self) -> bool:
        """Some mechanism proves names that are not in the file."""
        return any(
            not mechanism.needs_users and mechanism.name != _ANONYMOUS for mechanism in self._mechanisms.values()
        )

    def exchange_users(self, users: Users) -> None:
        """The file was read again. Logins that have begun end with what they began with."""
        former, self.users = self.users, users
        self._removed = {name for name in {*former, *self._removed} if not users.knows(name)}
        for key, (name, revoked) in list(self._standing.items()):
            if former.record_of(name) != users.record_of(name) and self._standing.pop(key, None) is not None:
                revoked()


@implementer(ILogin)
class Login:
    """One login of one client."""

    def __init__(self, logins: Logins, mechanism: ISASLMechanism, peer: Principal) -> None:
        self._logins = logins
        self._mechanism = mechanism
        self._peer = peer
        self._users = logins.users
        self._exchange: ISASLExchange = mechanism.begin(peer, logins.users)
        self._host = "" if peer.facts.is_local else logins.host_of(peer.facts)
        self._begun: float | None = None
        self._rounds = 0
        self._is_over = False
        self._is_closed = False
        self._working: Deferred[Step] | None = None

    def answer(self, response: bytes | None) -> Deferred[Challenge | Admitted]:
        assert not self._is_over, "a login has one end"
        assert self._working is None, "one answer at a time"
        answered: Deferred[Challenge | Admitted] = Deferred()
        self._go_on(self._step(response), answered)
        return answered

    def close(self) -> None:
        self._is_closed = True
        if self._working is not None:
            self._logins.labour.give_up(self._working)
            self._logins.others.give_up(self._working)

    def _go_on(self, step: Step, answered: Deferred[Challenge | Admitted]) -> None:
        """One step may lead to the next, without a word of the client's."""
        self._working = None
        if isinstance(step, Work | Later):
            try:
                if isinstance(step, Work):
                    self._working = self._logins.labour.do(step.run, self._instead)
                else:
                    self._working = self._logins.others.do(partial(self._ask, step), self._instead)
            except Overloaded:
                step = Failed("busy")
            else:
                self._working.addErrback(self._broken).addCallback(self._go_on, answered)
                return
        self._conclude(step, answered)

    def _ask(self, step: Later) -> Any:
        """Whoever is asked may be out of reach."""
        return step.ask().addTimeout(self._logins.limits.handshake_seconds, self._logins.clock)

    def _step(self, response: bytes | None) -> Step:
        now = self._logins.clock.seconds()
        first = self._begun is None
        if self._begun is None:
            self._begun = now
        if now - self._begun > self._logins.limits.handshake_seconds:
            return Failed("time")
        if response is not None and len(response) > self._logins.limits.login_octets:
            return Failed("unreadable")
        if self._is_paused():
            return Failed("paused")
        try:
            exchange = self._exchange
            step = exchange.start(response, now) if first else exchange.respond(response or b"", now)
        except Exception:
            return self._broken(Failure())
        # who it is may be known only now
        return Failed("paused") if self._is_paused() else step

    @property
    def _claimed(self) -> str | None:
        """As much of it as there can be in a name."""
        claimed = self._exchange.claimed
        return None if claimed is None else claimed[:MOST_NAME_OCTETS]

    def _is_paused(self) -> bool:
        return self._logins.attempts.pause(self._claimed, self._host, self._logins.clock.seconds()) > 0

    def _instead(self) -> Step | None:
        """Others of this name or host may have failed while this one waited."""
        return Failed("paused") if self._is_paused() else None

    def _broken(self, failure: Failure) -> Step:
        _log.failure("the mechanism {name} has failed, which counts as no", failure, name=self._mechanism.name)
        return Failed("failed")

    def _conclude(self, step: Step, answered: Deferred[Challenge | Admitted]) -> None:
        """Count what comes of it, also where nobody waits any more: guesses cost the same for those who do not stay."""
        self._working = None
        outcome = self._outcome(step)
        if not self._is_closed:
            answered.callback(outcome)  # an exception in a Failure goes the errbacks' way

    def _outcome(self, step: Step) -> Any:
        if isinstance(step, Challenge):
            self._rounds += 1
            if self._rounds <= MOST_ROUNDS:
                return step
            step = Failed("unreadable")
        self._is_over = True
        if isinstance(step, Proved):
            if self._is_as_it_was(step.identity):
                self._logins.ended[self._mechanism.name, "admitted"] += 1
                return Admitted(self._principal(step), step.octets)
            step = Failed("changed")
        return Failure(self._refused(step.reason if isinstance(step, Failed) else "failed"))

    def _is_as_it_was(self, name: str | None) -> bool:
        """The exchange has seen the users as they were when it began."""
        return name is None or self._users.record_of(name) == self._logins.users.record_of(name)

    def _principal(self, proved: Proved) -> Principal:
        name = proved.identity
        if name is None:
            return attrs.evolve(self._peer, identity=None, groups=frozenset())
        self._logins.attempts.succeeded(name, self._host)
        return attrs.evolve(self._peer, identity=name, groups=self._users.groups_of(name) | proved.groups)

    def _refused(self, reason: str) -> Refused:
        self._logins.ended[self._mechanism.name, reason] += 1
        if reason not in _INNOCENT:
            now = self._logins.clock.seconds()
            if pause := self._logins.attempts.failed(self._claimed, self._host, now):
                _log.warn(
                    "logins as {name!a} from {host} fail; none is tried for {pause:.0f} s",
                    name=self._claimed,
                    host=self._host or "this machine",
                    pause=pause,
                )
        return Refused(_TEXTS.get(reason, "the login has failed"), reason)
