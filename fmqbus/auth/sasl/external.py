"""EXTERNAL: what the carrier vouches for (RFC 4422, appendix A): a certificate, a UNIX user, a key.

What a certificate says is never a user's name by itself; the operator has written down whose it is. So no authority,
and nobody who may choose the name in his certificate, can name a user.
"""

from __future__ import annotations

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.auth.passwords import prepared
from fmqbus.errors import LocalError
from fmqbus.interfaces import ISASLExchange, ISASLMechanism, IUsers
from fmqbus.logins import MOST_NAME_OCTETS, Challenge, Failed, Proved, Step
from fmqbus.model import Principal


@implementer(ISASLExchange)
class ExternalExchange:
    """One login. A client says who it wants to be, or nothing if it can be only one."""

    def __init__(self, peer: Principal, users: IUsers) -> None:
        self.claimed: str | None = None
        self._known = users.known_by(peer)

    def start(self, response: bytes | None, now: float) -> Step:
        return Challenge(b"") if response is None else self.respond(response, now)

    def respond(self, response: bytes, now: float) -> Step:
        if len(response) > MOST_NAME_OCTETS:
            return Failed("unreadable")
        try:
            wanted = prepared(response.decode())
        except (UnicodeDecodeError, LocalError):
            return Failed("unreadable")
        if wanted:
            self.claimed = wanted
            return Proved(wanted) if wanted in self._known else Failed()
        return Proved(self._known[0]) if len(self._known) == 1 else Failed()


@implementer(IPlugin, ISASLMechanism)
class External:
    """The mechanism."""

    name = "EXTERNAL"
    summary = "what the carrier vouches for: a certificate, a UNIX user"
    shows_password = False
    needs_users = True

    def begin(self, peer: Principal, users: IUsers) -> ExternalExchange:
        return ExternalExchange(peer, users)


EXTERNAL = External()
