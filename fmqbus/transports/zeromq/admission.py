"""Who is let in to ZeroMQ's sockets, and what is proved by that?

A peer is let in once, by its handshake; the connection then lasts as long as it likes. So each message is looked at
again: ZeroMQ tells with it what it was let in as, and that has to stand still. What is no longer so is told at once, so
that connections which say nothing end too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Protocol

import attrs
from twisted.internet.defer import Deferred, fail, succeed
from zmq.utils import z85

from fmqbus.errors import Refused
from fmqbus.interfaces import ILogins
from fmqbus.logins import Admitted, Challenge
from fmqbus.model import PeerFacts, Principal
from fmqbus.transports.facts import internet_facts
from fmqbus.transports.zeromq.key_folder import KeyFolder
from fmqbus.transports.zeromq.zap import Request


class Admission(Protocol):
    """One way to be let in, at one place."""

    #: As ZAP has it.
    mechanism: bytes
    #: Called when `proved` may answer otherwise from now on; with True if that is None for some.
    changed: Callable[[bool], None]

    def admit(self, request: Request) -> Deferred[str]:
        """Fires with what to know the peer by, or fails with `Refused`."""

    def proved(self, user_id: str, facts: PeerFacts) -> PeerFacts | None:
        """All that is known of a peer that was let in so; None if it would not be let in now."""

    def reload(self) -> None:
        """Look again at what says who is let in. Raises `ConfigError`; nothing has then changed."""

    def close(self) -> None:
        """Nobody comes any more."""


def _nobody_asks(is_anybody_out: bool) -> None:
    """The place is closed, or not yet open."""


class KeysAdmission:
    """By CURVE: whoever has a key of those in a folder, or any key at all. A peer is known by its key.

    Whose key it is, the file of users may say. The names of files are for people.
    """

    mechanism = b"CURVE"

    def __init__(self, folder: Path | None, logins: ILogins | None = None) -> None:
        """Raises `ConfigError`. An empty folder lets nobody in."""
        self.changed: Callable[[bool], None] = _nobody_asks
        self._folder = None if folder is None else KeyFolder(folder)
        self._logins = logins
        self._names = self._read()
        #: Users that we are told of when the file says something else of them.
        self._leave: dict[Principal, Callable[[], None]] = {}

    def admit(self, request: Request) -> Deferred[str]:
        key = z85.encode(request.credentials[0]).decode()
        return succeed(key) if self._is_known(key) else fail(Refused(f"the key {key} is not known", "key"))

    def proved(self, user_id: str, facts: PeerFacts) -> PeerFacts | None:
        if not self._is_known(user_id):
            return None
        facts = attrs.evolve(facts, carrier="curve", curve_key=user_id)
        if self._logins is None:
            return facts
        user = self._logins.vouched(Principal("zap", facts))
        if user.identity is None:
            return facts
        who = Principal("zap", PeerFacts("zmq"), user.identity)
        if who not in self._leave:
            self._leave[who] = self._logins.stand(who, lambda: self._user_changed(who))
        return attrs.evolve(facts, user=user.identity, groups=user.groups)

    def reload(self) -> None:
        self.changed(False)  # the file of users is read again at the same time
        former, self._names = self._names, self._read()
        if former.keys() - self._names.keys():
            self.changed(True)

    def close(self) -> None:
        for leave in self._leave.values():
            leave()
        self._leave = {}
        self.changed = _nobody_asks

    def _user_changed(self, who: Principal) -> None:
        del self._leave[who]
        self.changed(False)

    def _is_known(self, key: str) -> bool:
        return self._folder is None or key in self._names

    def _read(self) -> Mapping[str, str]:
        return {} if self._folder is None else self._folder.read()


class UsersAdmission:
    """By PLAIN: whoever has a user's password. It is a login as any other, with all that slows guessing down."""

    mechanism = b"PLAIN"

    def __init__(self, logins: ILogins) -> None:
        self.changed: Callable[[bool], None] = _nobody_asks
        self._logins = logins
        self._numbers = count(1)
        #: As whom peers have been let in, by a number that is never given again: who comes back with another password
        #: is not the one who came with the old. One of each user, as long as it is what the file says.
        self._passes: dict[str, Principal] = {}
        self._pass_of: dict[Principal, str] = {}
        self._leave: dict[str, Callable[[], None]] = {}

    def admit(self, request: Request) -> Deferred[str]:
        peer = Principal("zap", internet_facts(request.address, None))
        try:
            login = self._logins.begin("PLAIN", peer)
        except Refused as error:
            return fail(error)
        return login.answer(b"\0" + b"\0".join(request.credentials)).addCallback(self._admitted)

    def proved(self, user_id: str, facts: PeerFacts) -> PeerFacts | None:
        user = self._passes.get(user_id)
        return None if user is None else attrs.evolve(facts, user=user.identity, groups=user.groups)

    def reload(self) -> None:
        """The users tell by themselves."""

    def close(self) -> None:
        for leave in self._leave.values():
            leave()
        self._passes, self._pass_of, self._leave = {}, {}, {}
        self.changed = _nobody_asks

    def _admitted(self, outcome: Challenge | Admitted) -> str:
        if not isinstance(outcome, Admitted):
            raise Refused("more is asked than ZeroMQ can say", "mechanism")
        user = Principal("zap", PeerFacts("zmq"), outcome.principal.identity, outcome.principal.groups)
        number = self._pass_of.get(user)
        if number is None:
            number = self._pass_of[user] = str(next(self._numbers))
            self._passes[number] = user
            self._leave[number] = self._logins.stand(user, lambda: self._revoke(user))
        return number

    def _revoke(self, user: Principal) -> None:
        number = self._pass_of.pop(user)
        del self._passes[number], self._leave[number]
        self.changed(True)
