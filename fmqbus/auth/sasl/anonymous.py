"""ANONYMOUS: nobody in particular (RFC 4505)."""

from __future__ import annotations

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import ISASLExchange, ISASLMechanism, IUsers
from fmqbus.logins import MOST_NAME_OCTETS, Challenge, Failed, Proved, Step
from fmqbus.model import Principal


@implementer(ISASLExchange)
class AnonymousExchange:
    """Ends well, and proves nothing. What a client says of itself is not kept: nothing about it is known."""

    claimed = None

    def start(self, response: bytes | None, now: float) -> Step:
        return Challenge(b"") if response is None else self.respond(response, now)

    def respond(self, response: bytes, now: float) -> Step:
        return Proved(None) if len(response) <= MOST_NAME_OCTETS else Failed("unreadable")


@implementer(IPlugin, ISASLMechanism)
class Anonymous:
    """The mechanism."""

    name = "ANONYMOUS"
    summary = "clients that prove nothing, and are nobody in particular"
    shows_password = False
    needs_users = False

    def begin(self, peer: Principal, users: IUsers) -> AnonymousExchange:
        return AnonymousExchange()


ANONYMOUS = Anonymous()
