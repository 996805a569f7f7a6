"""What does a destination mean? (MicroMsg2, MESSAGE frame; reading 52)

``topic/NAME`` is a topic, ``queue/NAME`` or ``NAME`` alone a queue, and nothing at all the queue that the configuration
names. Outer slashes mean nothing, as everywhere on the bus (`fmqbus.names`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from fmqbus import names
from fmqbus.protocols.micromsg2.wire import TOPIC

_QUEUE = b"queue/"
_SLASH = b"/"


class Destination(NamedTuple):
    """A topic or a queue of the bus."""

    is_topic: bool
    #: Trimmed.
    name: bytes


@lru_cache(maxsize=4096)
def parse(written: bytes, default_queue: bytes) -> Destination:
    """Read a destination as a client wrote it. Raises `InvalidName`."""
    if not written:
        return Destination(False, default_queue)
    name = written.lstrip(_SLASH)
    if name.startswith(TOPIC):
        return Destination(True, names.parse(name[len(TOPIC) :]))
    return Destination(False, names.parse(name.removeprefix(_QUEUE)))
