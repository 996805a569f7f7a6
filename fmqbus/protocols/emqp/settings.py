"""What can be set for eMQP: the table ``[protocols.emqp]``."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from fmqbus.protocols.emqp.headers import LONGEST_SECONDS
from fmqbus.protocols.emqp.presence import BEAT_SECONDS, SILENCE_SECONDS
from fmqbus.settings import read_table

_Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_SECONDS)]
_Interval = Annotated[float, msgspec.Meta(ge=0.1, le=3600)]


class Submitted(enum.Enum):
    """What a client is told when its REQUEST has been accepted; the specification does not say."""

    #: ACK if it asked for the result, REPLY as EventMQ's broker does if not.
    AUTO = "auto"
    ACK = "ack"
    REPLY = "reply"
    NOTHING = "nothing"


class Unknown(enum.Enum):
    """What becomes of a REQUEST for a queue that nobody has ever served, and that is empty."""

    #: It goes to the queue ``default``, as with EventMQ's broker.
    DEFAULT = "default"
    #: It waits there for somebody to serve it.
    KEEP = "keep"


class EMQPSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """eMQP at all its listeners. Times are in seconds; 0 is off, or without end."""

    #: Between two HEARTBEATs to a peer that is there.
    heartbeat: _Interval = BEAT_SECONDS
    #: Who has said nothing for so long is there no more.
    silence: _Interval = SILENCE_SECONDS
    #: The jobs of a worker that is there no more are its own for so long: it may only have changed its identity.
    grace: _Seconds = 20.0
    #: The same for one that has said goodbye: it may be finishing them.
    goodbye_grace: _Seconds = 300.0
    #: How long a job may take that does not say, and what is added before the broker gives a job up: the worker is the
    #: first to know.
    timeout: _Seconds = 300.0
    timeout_grace: _Seconds = 20.0
    #: EventMQ's workers look for jobs that have ended only when they hear something: while they have any, they hear a
    #: HEARTBEAT so often.
    nudge: _Seconds = 0.02
    #: How often a job with ``guarantee`` is given out at most, if nobody replies.
    guarantee: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    #: A result that cannot be sent, because its client is not there, is kept for so long.
    keep_results: _Seconds = 60.0
    submitted: Submitted = Submitted.AUTO
    unknown_queue: Unknown = Unknown.DEFAULT


def read_settings(options: Mapping[str, Any]) -> EMQPSettings:
    """Raises `ConfigError` with the wrong key."""
    return read_table(EMQPSettings, options, "protocols.emqp")
