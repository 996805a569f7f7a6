"""CRAM-MD5: for clients that know nothing better (RFC 2195). Off unless it is configured.

The bus has to keep the password itself for it, and nothing tells the client whom it talks to.
"""

from __future__ import annotations

import hmac
import re
import secrets

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.auth.passwords import prepared
from fmqbus.errors import LocalError
from fmqbus.interfaces import ISASLExchange, ISASLMechanism, IUsers
from fmqbus.logins import MOST_NAME_OCTETS, Challenge, Failed, Proved, Step
from fmqbus.model import Principal

#: A name, which may have blanks in it, and 128 bits.
_RESPONSE = re.compile(rb"(.+) ([0-9a-f]{32})", re.DOTALL)
_MOST_OCTETS = MOST_NAME_OCTETS + 33


@implementer(ISASLExchange)
class CramMD5Exchange:
    """One login: a challenge, and the password's signature under it."""

    def __init__(self, users: IUsers) -> None:
        self.claimed: str | None = None
        self._users = users
        #: What this client, and no other, is to sign; empty before it is asked.
        self._challenge = b""

    def start(self, response: bytes | None, now: float) -> Step:
        """The server begins here (RFC 2195, section 2)."""
        if response:
            return Failed("unreadable")
        self._challenge = f"<{secrets.randbits(128)}.{int(now)}@fmqbus>".encode()
        return Challenge(self._challenge)

    def respond(self, response: bytes, now: float) -> Step:
        """Of a user that is not there, a password that nobody knows has to do: so it takes as long."""
        match = _RESPONSE.fullmatch(response) if len(response) <= _MOST_OCTETS else None
        if match is None:
            return Failed("unreadable")
        try:
            self.claimed = name = prepared(match[1].decode())
        except (UnicodeDecodeError, LocalError):
            return Failed("unreadable")
        kept = self._users.password_of(name)
        password = secrets.token_bytes(16) if kept is None else kept
        signature = hmac.new(password, self._challenge, "md5").hexdigest().encode()
        is_right = hmac.compare_digest(signature, match[2])
        return Proved(name) if is_right and kept is not None else Failed()


@implementer(IPlugin, ISASLMechanism)
class CramMD5:
    """The mechanism."""

    name = "CRAM-MD5"
    summary = "for old clients: the password is signed; the bus has to keep it readable"
    shows_password = False
    needs_users = True

    def begin(self, peer: Principal, users: IUsers) -> CramMD5Exchange:
        return CramMD5Exchange(users)


CRAM_MD5 = CramMD5()
