"""Who may begin a data flow? (MTL, Requesting a Data Lease; Initializing a Data Flow; readings 27 and 30)

A lease is given out on the control flow, and used on a data flow, perhaps by another socket of another program: who
knows it has the right. So it cannot be guessed, works once, and ends by itself if nobody comes. All that are waiting
are bounded, for they cost memory before there is any connection to count.
"""

from __future__ import annotations

import enum
import secrets
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import attrs

from fmqbus.deadlines import Deadlines
from fmqbus.errors import Overloaded
from fmqbus.limits import Limits

#: More than the 128 bits that nobody guesses; 32 characters.
_TOKEN_OCTETS = 24

#: What a name costs besides its octets.
_NAME_OCTETS = 64

Owner = TypeVar("Owner", bound=Hashable)


class Kind(enum.Enum):
    """Which direction of a data flow a lease is for."""

    READER = "reader"
    WRITER = "writer"


@attrs.frozen(slots=True, kw_only=True)
class Grant(Generic[Owner]):
    """What a lease is good for."""

    #: Whose request it was, and as whom the flow acts, whoever uses the lease (reading 30).
    owner: Owner
    kind: Kind
    #: Under which it was requested; it stays so if the owner chooses another (reading 16).
    profile: str
    #: Empty for any and all, in a profile that has more than one (reading 19).
    resources: frozenset[bytes] = frozenset()
    is_confirmed: bool = False
    #: How many contents a reader takes in hand at most; 0 leaves it to the broker.
    window: int = 0

    @property
    def octets(self) -> int:
        """What it holds in memory, roughly."""
        return sum(len(name) + _NAME_OCTETS for name in self.resources)

    def allows(self, resource: bytes) -> bool:
        """Whether it is good for this resource."""
        return not self.resources or resource in self.resources


def new_token() -> bytes:
    """A lease that nobody can guess, of characters that everybody can print."""
    return secrets.token_urlsafe(_TOKEN_OCTETS).encode()


class Leases(Generic[Owner]):
    """Those of one place that nobody has used. Times are in seconds of any clock that does not go back."""

    def __init__(self, limits: Limits, make_token: Callable[[], bytes] = new_token) -> None:
        self._limits = limits
        self._make_token = make_token
        self._grants: dict[bytes, Grant[Owner]] = {}
        #: Nobody in it has none.
        self._by_owner: dict[Owner, set[bytes]] = {}
        self._ends: Deadlines[bytes] = Deadlines()
        self._octets = 0

    def __len__(self) -> int:
        return len(self._grants)

    def give(self, grant: Grant[Owner], now: float) -> bytes:
        """A lease for this, from now on for `Limits.lease_seconds`. Raises `Overloaded` beyond `Limits.leases`,
        `leases_per_peer` and `lease_octets`."""
        self.expire(now)
        limits = self._limits
        if len(self._grants) >= limits.leases:
            raise Overloaded(f"{limits.leases} leases wait to be used", "leases")
        if len(self._by_owner.get(grant.owner, ())) >= limits.leases_per_peer:
            raise Overloaded(f"{limits.leases_per_peer} leases of one client wait to be used", "leases-per-peer")
        if self._octets + grant.octets > limits.lease_octets:
            raise Overloaded(f"leases of {limits.lease_octets} octets wait to be used", "lease-octets")
        token = self._make_token()
        self._grants[token] = grant
        self._by_owner.setdefault(grant.owner, set()).add(token)
        self._ends.set(token, limits.lease_seconds, now)
        self._octets += grant.octets
        return token

    def find(self, token: bytes, now: float) -> Grant[Owner] | None:
        """What a lease is good for. None if there is no such lease now: never given, used, revoked, or too old."""
        if token not in self._grants or self._ends.end_of(token) <= now:
            return None
        return self._grants[token]

    def use(self, token: bytes, now: float) -> Grant[Owner] | None:
        """The same, for the only time."""
        grant = self.find(token, now)
        if grant is not None:
            self._remove(token)
        return grant

    def revoke(self, owner: Owner) -> None:
        """What this one was given and has not used is good for nothing any more."""
        for token in tuple(self._by_owner.get(owner, ())):
            self._remove(token)

    def expire(self, now: float) -> int:
        """Forget those that nobody has used in their time; returns how many they were."""
        over = self._ends.passed(now)
        for token in over:
            self._remove(token)
        return len(over)

    def _remove(self, token: bytes) -> None:
        grant = self._grants.pop(token)
        self._ends.discard(token)
        self._octets -= grant.octets
        own = self._by_owner[grant.owner]
        own.discard(token)
        if not own:
            del self._by_owner[grant.owner]
