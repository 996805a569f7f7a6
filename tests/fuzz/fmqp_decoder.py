"""What must hold for FMQP's decoder whatever octets it is fed?

It gives to each receiver what a plain reading of the specification gives, in that order, whether the octets come whole,
one by one or cut anywhere; it holds no more than one unfinished packet; and it raises nothing at all, since any octets
are packets of some kind.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Iterator

from fmqbus.model import SINGLY, Publication, Route, Targets
from fmqbus.protocols.fmqp.codec import HEADER_OCTETS, MAX_TOPIC_OCTETS, Decoder, Oversize, Packet
from tests import vectors

BODY_LIMIT = 512

#: Three kinds of route, chosen by the topic's length, so that neighbours join in a run, part, or leave one by one.
KINDS = (Targets(()), Targets(()), SINGLY)

#: What the search begins with: each vector, and all of them in one stream.
SEEDS = [vector.octets for vector in vectors.load("fmqp")]
SEEDS.append(b"".join(SEEDS))

Event = Packet | Oversize


class Routes(dict[bytes, Route]):
    """Knows a route for every topic, and counts with it."""

    def __missing__(self, topic: bytes) -> Route:
        route = self[topic] = Route(topic, None, kind(topic))
        return route


def kind(topic: bytes) -> Targets:
    return KINDS[len(topic) % len(KINDS)]


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever the decoder raised, if the decoder does not bear these octets."""
    expected = list(plain_reading(octets))
    at_random = random.Random(octets)
    for pieces in ([octets], single_octets(octets), cut(octets, at_random)):
        events = decoded(pieces)
        for receiver in KINDS:
            assert seen_by(receiver, events) == seen_by(receiver, expected)


def seen_by(receiver: Targets, events: Iterable[Event]) -> list[Event]:
    """What goes to one receiver, and all that leaves alone: the decoder may gather what lies between those for each
    receiver, but never change the order that a receiver sees."""
    return [event for event in events if goes_to(event) in (receiver, SINGLY)]


def goes_to(event: Event) -> Targets:
    is_plain = isinstance(event, Packet) and not event.flags and event.body
    return kind(event.topic) if is_plain else SINGLY


def plain_reading(octets: bytes) -> Iterator[Event]:
    """Read packets one after the other, without any of the decoder's art."""
    at = 0
    while at + HEADER_OCTETS <= len(octets):
        flags, topic_octets, body_octets = struct.unpack_from(">BBI", octets, at)
        body_at = at + HEADER_OCTETS + topic_octets
        next_at = body_at + body_octets
        if body_octets > BODY_LIMIT:
            yield Oversize(topic_octets, body_octets)
        elif next_at <= len(octets):
            yield Packet(flags, octets[body_at - topic_octets : body_at], octets[body_at:next_at])
        else:
            return
        at = next_at


def decoded(pieces: Iterable[bytes]) -> list[Event]:
    """Feed the pieces to a new decoder; return all that it gave, runs taken apart into their packets."""
    decoder, routes, events = Decoder(BODY_LIMIT), Routes(), list[Event]()
    in_runs = 0
    for piece in pieces:
        for event in decoder.feed(piece, routes):
            if isinstance(event, Publication):
                in_runs += event.count
                events += taken_apart(event)
            else:
                events.append(event)
        assert decoder.held < HEADER_OCTETS + MAX_TOPIC_OCTETS + BODY_LIMIT
    assert decoder.packets == len(events)
    singly = sum(route.messages for route in routes.values() if route.targets is SINGLY)
    assert sum(route.messages for route in routes.values()) - singly == in_runs
    return events


def taken_apart(run: Publication) -> Iterator[Packet]:
    assert run.count == len(run.messages)
    for message in run.messages:
        assert run.targets is kind(message.topic), "a run holds only what goes to its targets"
        yield Packet(0, message.topic, message.payload)


def single_octets(octets: bytes) -> Iterator[bytes]:
    return (octets[at : at + 1] for at in range(len(octets)))


def cut(octets: bytes, at_random: random.Random) -> Iterator[bytes]:
    """The octets in up to five pieces, cut anywhere; some may be empty."""
    cuts = sorted(at_random.choices(range(len(octets) + 1), k=4))
    return (octets[start:end] for start, end in zip([0, *cuts], [*cuts, len(octets)], strict=True))
