"""What a MicroMsg2 connection tells its session, and what an extension may have it tell.

Messages come as `fmqbus.protocols.micromsg2.codec.Run` and `fmqbus.protocols.micromsg2.frames.Received`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.filters import Filter
from fmqbus.protocols.micromsg2.frames import Received


@attrs.frozen(slots=True)
class Opened:
    """The handshake is complete; frames may be sent. Which extensions were agreed on, `Connection.agreed` tells."""

    #: What the other side calls itself; any octets.
    identity: bytes


@attrs.frozen(slots=True)
class Subscribe:
    """The other side wants the messages of a destination that pass the filter."""

    destination: bytes
    filter: Filter
    #: What else it said, by name in lower case.
    options: Mapping[str, str]


@attrs.frozen(slots=True)
class Unsubscribe:
    """The other side wants no more messages of a destination."""

    destination: bytes


@attrs.frozen(slots=True)
class Settled:
    """From an extension to the connection: the other side has taken over all that was sent up to this number."""

    number: int


@attrs.frozen(slots=True)
class Acknowledged:
    """The other side has taken over the messages that were sent with these tags, in their order."""

    tags: Sequence[Any]


@attrs.frozen(slots=True)
class Released:
    """Nothing that was to be sent waits for room any more."""


@attrs.frozen(slots=True)
class LoginSaid:
    """The other side said something of a login (`fmqbus.protocols.micromsg2.extensions.sasl.Word`)."""

    word: int
    octets: bytes = attrs.field(repr=False)


@attrs.frozen(slots=True)
class Nothing:
    """A frame has come of which there is nothing to tell. There can be very many of them, so that it is work all the
    same."""


NOTHING = Nothing()


@attrs.frozen(slots=True)
class Refused:
    """The other side said something that was discarded; where the protocol has a word for it, it has been told."""

    #: A short word of ours, fit for a counter's label.
    reason: str


@attrs.frozen(slots=True)
class ErrorReceived:
    """The other side sent an ERROR. If `Connection.state` is closed now, that was its last word."""

    text: str


@attrs.frozen(slots=True)
class Failed:
    """The connection is of no use any more. Send what is to be sent, in which the other side is told, and close it."""

    #: A short word of ours, fit for a counter's label.
    reason: str
    text: str


Event = (
    Opened
    | Run
    | Received
    | Subscribe
    | Unsubscribe
    | LoginSaid
    | Settled
    | Acknowledged
    | Released
    | Nothing
    | Refused
    | ErrorReceived
    | Failed
)
