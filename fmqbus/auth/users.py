"""Who is there, for mechanisms: the users of a file as `IUsers`.

A user that is not there has a secret too, which no password fits, and which is the same whenever it is asked for. So
nobody learns from an answer, or from how long it takes, which names there are.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence

from zope.interface import implementer

from fmqbus.auth.passwords import DEFAULT_ITERATIONS, SALT_OCTETS
from fmqbus.auth.user_file import User, UserFile, external, new_file
from fmqbus.interfaces import IUsers
from fmqbus.logins import Secret
from fmqbus.model import Principal

_NOBODY = User()


@implementer(IUsers)
class Users:
    """See `IUsers`. Does not change; a file that is read again makes new ones."""

    def __init__(self, file: UserFile | None = None) -> None:
        file = file or new_file()
        self._users = file.users
        self._decoys = file.decoys
        # A made-up user is as costly as the real ones. If they differ, which of them it is like depends on its name.
        costs = sorted(user.scram_sha_256.iterations for user in file.users.values() if user.scram_sha_256)
        self._costs: Sequence[int] = costs or [DEFAULT_ITERATIONS]
        self._external = [(external(text), name) for name, user in file.users.items() for text in user.external]

    def __repr__(self) -> str:
        return f"<Users, {len(self._users)} of them>"

    def record_of(self, name: str) -> User | None:
        """What the file says of a user; None if it does not know the name."""
        return self._users.get(name)

    def __iter__(self) -> Iterator[str]:
        """The names."""
        return iter(self._users)

    @property
    def groups(self) -> frozenset[str]:
        """All that some user is in."""
        return frozenset(group for user in self._users.values() for group in user.groups)

    def knows(self, name: str) -> bool:
        return name in self._users

    def secret_of(self, name: str) -> Secret:
        decoy = self._decoy_of(name)
        keys = self._users.get(name, _NOBODY).scram_sha_256
        return Secret(keys.salt, keys.iterations, keys.stored_key, keys.server_key) if keys else decoy

    def password_of(self, name: str) -> bytes | None:
        return self._users.get(name, _NOBODY).cram_md5

    def groups_of(self, name: str) -> frozenset[str]:
        return frozenset(self._users.get(name, _NOBODY).groups)

    def known_by(self, peer: Principal) -> Sequence[str]:
        return sorted({name for who, name in self._external if who.includes(peer)})

    def _decoy_of(self, name: str) -> Secret:
        cost = int.from_bytes(self._made_up(name, b"cost")[:8], "big") % len(self._costs)
        return Secret(
            self._made_up(name, b"salt")[:SALT_OCTETS],
            self._costs[cost],
            self._made_up(name, b"stored key"),
            self._made_up(name, b"server key"),
            is_real=False,
        )

    def _made_up(self, name: str, what: bytes) -> bytes:
        return hmac.digest(self._decoys, what + b"\0" + name.encode("utf-8", "surrogatepass"), "sha256")
