"""One tree of errors for the whole bus, split by whose mistake it is.

A local error is a mistake of our own caller and is fixed in code. A peer error is a mistake of
the other side of a wire: it is answered or counted as the protocol says and never ends the broker.
The bus's own answers (`Refused`, `Overloaded`, `Detached`, `CallFailed`) are neither: the request was well formed,
and the bus says no.
"""

from __future__ import annotations


class BusError(Exception):
    """Root of everything the bus raises on purpose. `reason` is a short word of ours, fit for a counter's label."""

    reason = "error"

    def __init__(self, detail: str = "", reason: str = "") -> None:
        super().__init__(detail)
        if reason:
            self.reason = reason


class LocalError(BusError):
    """Our caller asked for something that cannot be done, whatever the peer does."""


class PeerError(BusError):
    """The peer said something wrong."""

    reason = "incorrect"


class InvalidName(PeerError):
    """A topic or queue name breaks the rules of FMQP, section Topics."""


class FramingLost(PeerError):
    """Nothing more can be read from this peer: its octets no longer tell where a unit ends."""


class Refused(BusError):
    """The authorizer said no, or nobody said yes."""

    reason = "refused"


class Overloaded(BusError):
    """A limit of `fmqbus.limits` is reached; the same request may succeed later."""

    reason = "overloaded"


class Detached(BusError):
    """The session has ended; nothing can be asked of it any more."""

    reason = "detached"


class CallFailed(BusError):
    """A call has ended without a reply, or cannot begin. What `reason` can be is in `fmqbus.calls`; as it stands here,
    the server has said no, with a code and a text of its own."""

    reason = "failed"

    def __init__(self, detail: str = "", code: int = 0, reason: str = "") -> None:
        # a server's text may have what is no text: whoever sends it on must not stumble over that
        super().__init__(detail.encode("utf-8", "replace").decode(), reason)
        #: 0 if the server has none, or if the bus says this.
        self.code = code


class StoreFailed(BusError):
    """A store could not keep what it was given, or cannot read what it has kept."""

    reason = "store-failed"


class PlugRejected(BusError):
    """A plug does not provide what its interface demands. The broker runs on without it."""


class ConfigError(LocalError):
    """The configuration cannot be used. The text names the key and, where known, the line."""
