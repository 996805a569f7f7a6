"""What must hold for FMQP's decoder whatever octets it is fed?

Every receiver gets from it what a plain reading of the specification gives, in the same order, whether the octets come
whole, one by one or cut anywhere. It holds no more than one unfinished packet. It raises nothing at all, since any
octets are packets of some kind.
"""

from __future__ import annotations

import random
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from fmqbus.model import SINGLY, Publication, Route, Subscription, Targets
from fmqbus.protocols.fmqp.codec import HEADER_OCTETS, MAX_TOPIC_OCTETS, Decoder, Oversize, Packet
from tests import vectors
from tests.fuzz.cutting import cut, single_octets

BODY_LIMIT = 512

#: What the search begins with: each vector, and all of them in one stream.
SEEDS = [vector.octets for vector in vectors.load("fmqp")]
SEEDS.append(b"".join(SEEDS))

Event = Packet | Oversize


class Listener:
    """A receiver in whose place this file looks at what the decoder gave."""

    def put(self, publication: Publication, matched: tuple[Subscription, ...], source: Any) -> None:
        raise AssertionError("a decoder delivers nothing")


ONE, OTHER = Listener(), Listener()

#: Where a publication may go, chosen by its topic's length: neighbours join in a run, part, or leave one by one.
KINDS = (Targets(((ONE, ()),)), Targets(((OTHER, ()),)), Targets(((ONE, ()), (OTHER, ()))), Targets(()), SINGLY)


class Routes(dict[bytes, Route]):
    """Knows a route for every topic, and counts with it."""

    def __missing__(self, topic: bytes) -> Route:
        route = self[topic] = Route(topic, None, kind(topic))
        return route


def kind(topic: bytes) -> Targets:
    return KINDS[len(topic) % len(KINDS)]


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever the decoder raised, if the decoder does not bear these octets."""
    expected = by_receiver(plain_reading(octets))
    for pieces in ([octets], single_octets(octets), cut(octets, random.Random(octets))):
        assert by_receiver(decoded(pieces)) == expected


def by_receiver(events: Iterable[Event]) -> dict[object, list[Event]]:
    """Sort the events by who sees them: the order of what nobody sees both of is free."""
    seen = defaultdict[object, list[Event]](list)
    for event in events:
        for witness in witnesses(event):
            seen[witness].append(event)
    return seen


def witnesses(event: Event) -> Iterable[object]:
    """All receivers of a publication, or its topic if there are none. All see what the session must look at itself."""
    if isinstance(event, Oversize) or event.flags or not event.body or kind(event.topic) is SINGLY:
        return (ONE, OTHER, SINGLY)
    return [receiver for receiver, _ in kind(event.topic).entries] or [event.topic]


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
    assert in_runs == sum(route.messages for route in routes.values() if route.targets is not SINGLY)
    return events


def taken_apart(run: Publication) -> Iterator[Packet]:
    assert run.count == len(run.messages)
    for message in run.messages:
        assert run.targets is kind(message.topic), "a run holds only what goes to its targets"
        assert run.route is None or run.route.topic == message.topic, "a run with a route is of its topic"
        yield Packet(0, message.topic, message.payload)
