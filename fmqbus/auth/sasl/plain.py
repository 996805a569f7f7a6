"""PLAIN: a name and a password, as they are (RFC 4616). Only for links on which nobody else listens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.auth.passwords import MOST_PASSWORD_OCTETS, fits, prepared
from fmqbus.errors import LocalError
from fmqbus.interfaces import ISASLExchange, ISASLMechanism, IUsers
from fmqbus.logins import MOST_NAME_OCTETS, Challenge, Failed, Proved, Secret, Step, Work
from fmqbus.model import Principal


def parse(response: bytes) -> tuple[str, str]:
    """The name and the password in a response. Raises `LocalError` for what is none, and for one who wants to act as
    somebody else (RFC 4616, section 2)."""
    parts = response.split(b"\0")
    if len(parts) != 3:
        raise LocalError("a response has two NULs in it")
    wanted, name, password = parts
    if max(len(wanted), len(name)) > MOST_NAME_OCTETS or len(password) > MOST_PASSWORD_OCTETS:
        raise LocalError("too long")
    if not name or not password:
        raise LocalError("neither the name nor the password is empty")
    if wanted not in (b"", name):
        raise LocalError("nobody acts as somebody else")
    try:
        return prepared(name.decode()), password.decode()
    except UnicodeDecodeError:
        raise LocalError("a response is UTF-8") from None


@implementer(ISASLExchange)
class PasswordExchange(ABC):
    """One login by a name and a password, whoever says what they are worth."""

    def __init__(self, users: IUsers) -> None:
        self.claimed: str | None = None
        self._users = users

    def start(self, response: bytes | None, now: float) -> Step:
        return Challenge(b"") if response is None else self.respond(response, now)

    def respond(self, response: bytes, now: float) -> Step:
        try:
            name, password = parse(response)
        except LocalError:
            return Failed("unreadable")
        self.claimed = name
        return self._check(name, password)

    @abstractmethod
    def _check(self, name: str, password: str) -> Step:
        """What comes of it."""


class PlainExchange(PasswordExchange):
    """By the file of users."""

    def _check(self, name: str, password: str) -> Step:
        return Work(partial(_compare, name, password, self._users.secret_of(name)))


def _compare(name: str, password: str, secret: Secret) -> Step:
    try:
        return Proved(name) if fits(password, secret) else Failed()
    except LocalError:
        return Failed("unreadable")


@implementer(IPlugin, ISASLMechanism)
class Plain:
    """The mechanism."""

    name = "PLAIN"
    summary = "a name and a password, for links on which nobody else listens"
    shows_password = True
    needs_users = True

    def begin(self, peer: Principal, users: IUsers) -> PlainExchange:
        return PlainExchange(users)


PLAIN = Plain()
