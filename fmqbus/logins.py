"""What do those who log a client in say to each other? The values of `fmqbus.interfaces.ISASLMechanism` and `ILogins`.

A mechanism does no I/O and must not take long; what takes long, such as a password's hash, it hands back as `Work`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

from fmqbus.model import PeerFacts, Principal

#: Octets of a name; what PLAIN and ANONYMOUS allow as well (RFC 4616, section 2; RFC 4505, section 2).
MOST_NAME_OCTETS = 255


@attrs.frozen
class Secret:
    """What is kept of a password: the keys of SCRAM-SHA-256 (RFC 5802, section 3). It tells no password."""

    salt: bytes = attrs.field(repr=False)
    iterations: int
    stored_key: bytes = attrs.field(repr=False)
    server_key: bytes = attrs.field(repr=False)
    #: False for one that no password fits, in place of that of a user who is not there.
    is_real: bool = True


@attrs.frozen
class Challenge:
    """The client has to say more."""

    octets: bytes = attrs.field(repr=False)


@attrs.frozen
class Proved:
    """The exchange has ended well."""

    #: Whom the client has proved to be; None if it may be anybody (ANONYMOUS).
    identity: str | None
    #: What the mechanism still has to tell the client.
    octets: bytes = attrs.field(default=b"", repr=False)
    #: Besides those that the users' file knows.
    groups: frozenset[str] = frozenset()


@attrs.frozen
class Failed:
    """The exchange has ended in vain. The client is told no more than that."""

    #: A word of ours, fit for a counter's label: ``credentials`` where nothing was proved, ``unreadable``.
    reason: str = "credentials"


@attrs.frozen
class Work:
    """The next step takes long: call this in a thread. It uses nothing that another thread could change. What it
    returns may be more work."""

    run: Callable[[], Step] = attrs.field(repr=False)


@attrs.frozen
class Later:
    """The next step is somebody else's to tell: call this in the reactor's own thread. It must not take long itself;
    what it returns is a Deferred of the step."""

    ask: Callable[[], Any] = attrs.field(repr=False)


#: What comes of one answer of the client, or of the work that it made.
Step: TypeAlias = Challenge | Proved | Failed | Work | Later


@attrs.frozen
class Admitted:
    """A login has ended well."""

    #: As whom the client's session is to act.
    principal: Principal
    #: What the client is still to be told; often nothing.
    octets: bytes = attrs.field(default=b"", repr=False)


def is_private(facts: PeerFacts) -> bool:
    """Tell whether nobody else can listen on the way to this peer: it is on this machine, or behind TLS or CURVE."""
    return facts.is_local or facts.carrier in ("tls", "curve")
