"""PLAIN, where Twisted's checkers of credentials know who there is beside the file of users (`twisted.cred`).

A checker is made of a string, such as ``unix`` or ``file:/etc/fmqbus/passwords``, by the plugins that
`twisted.cred.strcred` finds. They are asked in order, and the first that says yes decides. Twisted's own look into
files and take their time to hash, so they are asked in threads; all others are asked in the reactor's thread, where
they must not block, and answer when they like.

Names of the file of users are its own. No checker is asked for one of them, nor believed if it answers with one: else a
UNIX account, say, could act as the user of the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
from twisted.cred.checkers import FilePasswordDB, ICredentialsChecker, InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.credentials import IUsernamePassword, UsernamePassword
from twisted.cred.error import LoginFailed, UnhandledCredentials
from twisted.cred.strcred import StrcredException, makeChecker
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.plugin import IPlugin
from twisted.plugins.cred_unix import UNIXChecker
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.auth.passwords import check_name, fits
from fmqbus.auth.sasl.plain import PasswordExchange
from fmqbus.errors import ConfigError, LocalError
from fmqbus.interfaces import ISASLMechanism, IUsers
from fmqbus.logins import Failed, Later, Proved, Step, Work
from fmqbus.model import Principal

#: They block, and what they return has fired by then.
_BLOCKING = (FilePasswordDB, UNIXChecker, InMemoryUsernamePasswordDatabaseDontUse)

_log = Logger()


@attrs.frozen
class Checker:
    """One of them, under the string that it was made of."""

    #: Perhaps with a password in it.
    text: str = attrs.field(repr=False)
    part: Any

    @property
    def blocks(self) -> bool:
        """It is to be asked in a thread."""
        return isinstance(self.part, _BLOCKING)


def make_checkers(texts: Sequence[str]) -> Sequence[Checker]:
    """Make them of strings. Raises `ConfigError` for those that cannot be made, or check no passwords."""
    return [_checker(text) for text in texts]


def _checker(text: str) -> Checker:
    kind = text.partition(":")[0]  # what follows may be a password
    try:
        part = makeChecker(text)
    except (StrcredException, ValueError, OSError) as error:
        raise ConfigError(f"{kind!a}: no checker can be made of it: {type(error).__name__} {error}") from None
    if not ICredentialsChecker.providedBy(part) or IUsernamePassword not in part.credentialInterfaces:
        raise ConfigError(f"{kind!a}: it checks no passwords")
    return Checker(text, part)


class CheckedExchange(PasswordExchange):
    """By the file of users and by checkers."""

    def __init__(self, checkers: Sequence[Checker], users: IUsers, has_users: bool) -> None:
        super().__init__(users)
        self._checkers = checkers
        self._has_users = has_users

    def _check(self, name: str, password: str) -> Step:
        # The file of users is looked at also for a name that it does not know, which takes as long.
        return Work(partial(self._compare, name, password)) if self._has_users else self._ask(0, name, password)

    def _compare(self, name: str, password: str) -> Step:
        try:
            is_right = fits(password, self._users.secret_of(name))
        except LocalError:
            return Failed("unreadable")
        if self._users.knows(name):
            return Proved(name) if is_right else Failed()
        return self._ask(0, name, password)

    def _ask(self, place: int, name: str, password: str) -> Step:
        """Ask a checker, and if it says no, the next."""
        if place == len(self._checkers):
            return Failed()
        checker = self._checkers[place]
        asked = partial(self._asked, checker, name, password)
        otherwise = partial(self._ask, place + 1, name, password)
        if checker.blocks:
            return Work(lambda: _fired(asked()) or otherwise())
        return Later(lambda: asked().addCallback(lambda proved: proved or otherwise()))

    def _asked(self, checker: Checker, name: str, password: str) -> Deferred[Proved | None]:
        """What it says, None for no."""
        credentials = UsernamePassword(name.encode(), password.encode())
        asked: Deferred[Any] = maybeDeferred(checker.part.requestAvatarId, credentials)
        return asked.addCallback(self._named, checker).addErrback(_no, checker)

    def _named(self, avatar: Any, checker: Checker) -> Proved | None:
        try:
            name = avatar.decode() if isinstance(avatar, bytes) else avatar
            if not isinstance(name, str):
                raise LocalError("it vouches for nobody in particular")
            check_name(name)
        except (UnicodeDecodeError, LocalError) as error:
            _log.warn("{checker} names somebody who cannot be: {error}", checker=checker.part, error=error)
            return None
        if self._users.knows(name):
            _log.warn("{checker} names {name!a}, who is the file's of users", checker=checker.part, name=name)
            return None
        return Proved(name)


def _fired(asked: Deferred[Proved | None]) -> Proved | None:
    """The outcome of one that has an answer already. A thread must not wait for one that has not."""
    outcomes: list[Proved | None] = []
    asked.addCallback(outcomes.append)
    return outcomes[0] if outcomes else None


def _no(failure: Failure, checker: Checker) -> None:
    if not failure.check(LoginFailed, UnhandledCredentials):
        _log.failure("{checker} has failed, which counts as no", failure, checker=checker.part)


@implementer(IPlugin, ISASLMechanism)
class CheckedPlain:
    """The mechanism, in place of `fmqbus.auth.sasl.plain.PLAIN`."""

    name = "PLAIN"
    summary = "a name and a password, also of those whom Twisted's checkers know"
    shows_password = True
    needs_users = False

    def __init__(self, checkers: Sequence[Checker], has_users: bool) -> None:
        """`has_users` tells whether there is a file of users too."""
        self._checkers = checkers
        self._has_users = has_users

    def begin(self, peer: Principal, users: IUsers) -> CheckedExchange:
        return CheckedExchange(self._checkers, users, self._has_users)
