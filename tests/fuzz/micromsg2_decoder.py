"""What must hold for MicroMsg2's decoder whatever octets it is fed?

It gives what a plain reading of the specification gives, in the same order, whether the octets come whole, one by one
or cut anywhere. It holds no more than what is unfinished. It raises nothing but `FramingLost`, and that where a plain
reading finds no frame.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import attrs

from fmqbus.errors import FramingLost
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.codec import Command, Decoder, Error, Extension, Part, Run
from fmqbus.protocols.micromsg2.fields import parse_pairs, to_text
from fmqbus.protocols.micromsg2.frames import Received
from tests import vectors
from tests.fuzz.cutting import cut, single_octets

BODY_LIMIT, CONTROL_LIMIT = 512, 256
LIMITS = attrs.evolve(DEFAULT_LIMITS, body_octets=BODY_LIMIT, control_octets=CONTROL_LIMIT)
#: The longest head: flags, number, destination, properties and payload length.
MAX_HEAD_OCTETS = 3 + 1 + 255 + 2 + 65_535 + 4

#: What the search begins with: each vector, and all of them in one stream.
SEEDS = [vector.octets for vector in vectors.load("micromsg2") if not vector.name.startswith("hs_")]
SEEDS.append(b"".join(SEEDS))

Event = Received | Part | Command | Extension | Error
#: Where the decoder gives up.
LOST = "framing lost"


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever the decoder raised, if the decoder does not bear these octets."""
    expected = list(plain_reading(octets))
    for pieces in ([octets], single_octets(octets), cut(octets, random.Random(octets))):
        assert list(decoded(pieces)) == expected


def decoded(pieces: Iterable[bytes]) -> Iterator[Event | str]:
    """Feed the pieces to a new decoder; yield all that it gave, runs taken apart into their messages."""
    decoder = Decoder(LIMITS)
    try:
        for piece in pieces:
            for event in decoder.feed(piece):
                if isinstance(event, Run):
                    yield from taken_apart(event)
                else:
                    yield event
            assert decoder.held < MAX_HEAD_OCTETS + 2 * BODY_LIMIT
    except FramingLost:
        yield LOST


def taken_apart(run: Run) -> Iterator[Received]:
    messages = list(run.frames)
    assert len(messages) == run.frames.count
    assert messages[-1].number == run.frames.last_number
    assert sum(map(len, run.frames.pieces)) == len(run.frames)
    for message in messages:
        assert message.destination == run.destination
        yield message


@attrs.define
class Cursor:
    """Reads octets one after the other; raises `IndexError` past the end."""

    octets: bytes
    at: int = 0

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.octets):
            raise IndexError
        self.at += count
        return self.octets[self.at - count : self.at]

    def number(self, octets: int) -> int:
        return int.from_bytes(self.take(octets), "big")


def plain_reading(octets: bytes) -> Iterator[Event | str]:
    """Read frames one after the other, without any of the decoder's art."""
    cursor = Cursor(octets)
    first: Received | None = None
    try:
        while True:
            flags = cursor.number(1)
            large, kind = flags & 8, flags & ~8
            length = 4 if large else 1
            if kind in (0, 16):
                number = cursor.number(2)
                destination = cursor.take(cursor.number(1))
                properties = cursor.take(cursor.number(2))
                payload_octets = cursor.number(length)
                so_far = b"" if first is None else first.payload
                if payload_octets + len(so_far) > BODY_LIMIT:
                    yield LOST
                    return
                payload = so_far + cursor.take(payload_octets)
                if first is not None:
                    destination, properties = first.destination, first.properties
                first = Received(number, destination, properties, payload)
                if kind:
                    yield Part(number)
                else:
                    yield first
                    first = None
            elif kind in (1, 2, 4):
                index = cursor.number(1) if kind == 2 else 0
                payload_octets = cursor.number(length)
                if payload_octets > CONTROL_LIMIT:
                    yield LOST
                    return
                yield control(kind, index, cursor.take(payload_octets))
            else:
                yield LOST
                return
    except IndexError:
        return


def control(kind: int, index: int, payload: bytes) -> Event:
    if kind == 2:
        return Extension(index, payload)
    text = to_text(payload)
    if kind == 4:
        return Error(text)
    name, _, arguments = text.partition(";")
    return Command(name.strip().lower(), parse_pairs(arguments))
