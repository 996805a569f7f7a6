"""What must hold for the broker's end of a MicroMsg2 connection whatever octets it is fed?

It tells and writes the same, whether the octets come whole, one by one or cut anywhere. It holds no more than one
unfinished handshake or frame. It raises nothing at all.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import Connection, Role, State
from fmqbus.protocols.micromsg2.events import Event
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.testing.micromsg2 import offer
from tests import vectors
from tests.fuzz.cutting import cut, single_octets
from tests.fuzz.micromsg2_decoder import BODY_LIMIT, LIMITS, MAX_HEAD_OCTETS
from tests.protocols.micromsg2.written import handshake


def _opening(extensions: bytes) -> bytes:
    """A client's two steps; frames may follow at once."""
    return 2 * handshake(extensions, b"", b"fuzz")


#: With an extension that looks at each message, and without one.
OPENINGS = (
    _opening(b"json;dotnet;batch-ack:max-count=4;pubsub"),
    _opening(b"json;xml;batch-ack:max-count=4;pubsub"),
)

_VECTORS = vectors.load("micromsg2")
_FRAMES = [vector.octets for vector in _VECTORS if not vector.name.startswith("hs_")]
#: What the search begins with: each vector, and after a handshake each that is not one, and all of those.
SEEDS = [vector.octets for vector in _VECTORS]
SEEDS += [opening + octets for opening in OPENINGS for octets in (*_FRAMES, b"".join(_FRAMES))]


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever the connection raised, if it does not bear these octets."""
    whole = played([octets])
    for pieces in (single_octets(octets), cut(octets, random.Random(octets))):
        assert played(pieces) == whole


def played(pieces: Iterable[bytes]) -> tuple[list[Event], bytes, State]:
    """All that a server tells and writes, and its state at the end. It finds every message safe at once, and greets who
    has opened."""
    connection = Connection(Role.SERVER, offer(required="batch-ack", limits=LIMITS))
    events: list[Event] = []
    written = b""
    for piece in pieces:
        for event in connection.receive(piece):
            for single in event.frames if isinstance(event, Run) else [event]:
                events.append(single)
                if isinstance(single, Received):
                    connection.safe(single.number)
                    connection.send(single.destination, single.payload, tag=single.number)
        written += b"".join(connection.take_output())
        assert connection.held < 3 * MAX_HEAD_OCTETS + 2 * BODY_LIMIT
    return events, written, connection.state
