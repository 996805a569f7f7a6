"""SCRAM-SHA-256: a password that is never shown, neither on the way nor to us (RFC 5802, RFC 7677).

Only the client computes what takes long, so a login costs the bus next to nothing. The client learns that the bus knows
its secret, too. There is no binding to a TLS channel: no carrier tells it.
"""

from __future__ import annotations

from typing import Any

from scramp import ScramException, ScramMechanism
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import ISASLExchange, ISASLMechanism, IUsers
from fmqbus.logins import MOST_NAME_OCTETS, Challenge, Failed, Proved, Step
from fmqbus.model import Principal

_MECHANISM = ScramMechanism("SCRAM-SHA-256")
#: Of one message: a name in which each octet may be escaped, and a nonce, which a client may make as long as it likes.
#: Normalizing the longest name takes some 5 ms.
MOST_OCTETS = 1_100


@implementer(ISASLExchange)
class ScramExchange:
    """One login: what does the client say first, and then last?"""

    def __init__(self, users: IUsers) -> None:
        self.claimed: str | None = None
        self._users = users
        self._is_real = False
        self._server: Any = _MECHANISM.make_server(self._keys_of)

    def _keys_of(self, name: str) -> tuple[bytes, bytes, bytes, int]:
        self.claimed = name
        secret = self._users.secret_of(name)
        self._is_real = secret.is_real
        return secret.salt, secret.stored_key, secret.server_key, secret.iterations

    def start(self, response: bytes | None, now: float) -> Step:
        return Challenge(b"") if response is None else self.respond(response, now)

    def respond(self, response: bytes, now: float) -> Step:
        """The library knows which message it has to be; what it says to the client of its errors, we do not."""
        if len(response) > MOST_OCTETS:
            return Failed("unreadable")
        try:
            return self._first(response.decode()) if self.claimed is None else self._last(response.decode())
        except (ScramException, UnicodeDecodeError):
            return Failed("unreadable" if self.claimed is None else "credentials")

    def _first(self, message: str) -> Step:
        self._server.set_client_first(message)
        if self.claimed is None or len(self.claimed.encode()) > MOST_NAME_OCTETS:
            return Failed("unreadable")
        return Challenge(self._server.get_server_first().encode())

    def _last(self, message: str) -> Step:
        self._server.set_client_final(message)
        octets: bytes = self._server.get_server_final().encode()
        return Proved(self.claimed, octets) if self._is_real else Failed()


@implementer(IPlugin, ISASLMechanism)
class ScramSHA256:
    """The mechanism."""

    name = "SCRAM-SHA-256"
    summary = "a password that is never shown; client and bus prove themselves to each other"
    shows_password = False
    needs_users = True

    def begin(self, peer: Principal, users: IUsers) -> ScramExchange:
        return ScramExchange(users)


SCRAM_SHA_256 = ScramSHA256()
