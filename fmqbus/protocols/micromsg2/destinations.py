"""What does a destination mean? (MicroMsg2, MESSAGE frame; reading 52)

``topic/NAME`` is a topic, ``queue/NAME`` or ``NAME`` alone a queue, ``method/NAME`` a method to be called, and nothing
at all the queue that the configuration names. Outer slashes mean nothing, as everywhere on the bus (`fmqbus.names`).
"""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import NamedTuple

from fmqbus import names
from fmqbus.protocols.micromsg2.wire import TOPIC

_QUEUE = b"queue/"
_METHOD = b"method/"
_SLASH = b"/"


class Kind(enum.Enum):
    """What of the bus has names."""

    TOPIC = "topic"
    QUEUE = "queue"
    METHOD = "method"


class Destination(NamedTuple):
    """Where a message goes, or what is subscribed to."""

    kind: Kind
    #: Trimmed.
    name: bytes


@lru_cache(maxsize=4096)
def parse(written: bytes, default_queue: bytes) -> Destination:
    """Read a destination as a client wrote it. Raises `InvalidName`."""
    if not written:
        return Destination(Kind.QUEUE, default_queue)
    name = written.lstrip(_SLASH)
    for kind, prefix in ((Kind.TOPIC, TOPIC), (Kind.METHOD, _METHOD)):
        if name.startswith(prefix):
            return Destination(kind, names.parse(name[len(prefix) :]))
    return Destination(Kind.QUEUE, names.parse(name.removeprefix(_QUEUE)))
