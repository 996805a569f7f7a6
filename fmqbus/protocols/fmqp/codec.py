"""FMQP packets: octets to events and back. No I/O, no clock, no router. (FMQP, section Packets format)

A packet is ``flags(1) topic-length(1) body-length(4, big-endian) topic body``. Bit 0 of the specification's
drawing is the most significant bit.

`Decoder.feed` has two lanes. The **fast lane** is for what nearly all traffic is: publications without any
flag, with a body, under a topic whose route is known. Neighbours that go to the same targets are one `Publication`,
whatever their topics and sizes: one slice of the input, never split. Frames of one header (same topic,
same length) are found by comparing octets, without unpacking each. Everything else leaves as a `Packet` of
its own; what a packet means is the session's business.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from fmqbus.model import NOBODY, SINGLY, SINGLY_ROUTE, Message, Publication, Route, Targets

# Flags: section Packets format, figure; 0x03 is unnamed, ignored on reading and written as zero.
SUBSCRIPTION = 0x80
UNSUBSCRIBE = 0x40
FEEDBACK = 0x20
DEBUG = 0x10
LAST_WILL = 0x08
CACHE = 0x04

_HEADER = struct.Struct(">BBI")
HEADER_OCTETS = _HEADER.size
MAX_TOPIC_OCTETS = 0xFF
MAX_BODY_OCTETS = 0xFFFF_FFFF


@attrs.frozen(slots=True)
class Packet:
    """One packet, as written by the other side: the topic may have outer slashes or break the rules."""

    flags: int
    topic: bytes
    body: bytes = b""

    @property
    def is_subscription(self) -> bool:
        """A subscribe or unsubscribe packet; a publication otherwise."""
        return bool(self.flags & SUBSCRIPTION)


@attrs.frozen(slots=True)
class Oversize:
    """A packet announced a body above the limit; its octets are skipped unbuffered as they come."""

    topic_octets: int
    body_octets: int


def encode(flags: int, topic: bytes, body: bytes = b"") -> bytes:
    """Return one packet. Raises `struct.error` for a topic above 255 octets or a body above 4 GiB."""
    return _HEADER.pack(flags, len(topic), len(body)) + topic + body


class FMQPFormat:
    """`fmqbus.model.WireFormat` of FMQP publications in the regular topic system."""

    name = "fmqp"

    def encode(self, messages: Sequence[Message]) -> bytes:
        """Return publications; messages with an empty body are left out (section Empty messages)."""
        return b"".join(
            encode((CACHE if m.retain else 0) | (LAST_WILL if m.will else 0), m.topic, m.payload)
            for m in messages
            if m.payload
        )

    def decode(self, data: bytes) -> Iterator[Message]:
        """Yield the messages of whole publication packets that came through `Decoder`'s fast lane or `encode`."""
        position, end = 0, len(data)
        while position < end:
            flags, topic_octets, body_octets = _HEADER.unpack_from(data, position)
            topic_at = position + HEADER_OCTETS
            body_at = topic_at + topic_octets
            position = body_at + body_octets
            yield Message(data[topic_at:body_at], data[body_at:position], bool(flags & CACHE), bool(flags & LAST_WILL))


WIRE = FMQPFormat()


class Decoder:
    """Turns one connection's octets into publications, packets and oversize notes, however they are cut."""

    __slots__ = ("_held", "_needed", "_skip", "body_limit", "packets", "unread")

    def __init__(self, body_limit: int) -> None:
        self.body_limit = body_limit
        #: Packets begun since the start: the well-formed and the others alike.
        self.packets = 0
        #: Octets of this read that come after the event given last, a half-received packet included.
        self.unread = 0
        self._held: bytes | bytearray = b""
        self._needed = 0
        self._skip = 0

    @property
    def held(self) -> int:
        """Octets buffered for a packet that has not fully arrived."""
        return len(self._held)

    def feed(self, data: bytes, routes: Mapping[bytes, Route]) -> Iterator[Publication | Packet | Oversize]:
        """Take what one read brought; yield what it completes, in order.

        `routes` answers a raw topic with a `Route`; a route whose targets are `SINGLY` makes its packets leave
        alone, as does one whose targets are not known: to find them may take long, and when to do so is the caller's to
        decide. The caller may take its time, and routes may change, whenever it is given a packet, a note, or a
        publication for several receivers. The iterator must be used up before the next call.
        """
        data = self._joined(data)
        unpack, header_octets, limit = _HEADER.unpack_from, HEADER_OCTETS, self.body_limit
        runs = _Runs()
        at, end = 0, len(data)
        last_header_at = end - header_octets
        # the open run: data[run_at:at], run_count frames for run_targets; of run_route only, or of several if that is
        # None
        run_at = run_count = packets = 0
        run_targets, run_route, route = NOBODY, None, SINGLY_ROUTE
        last_topic: bytes | None = None
        last_body_octets = -1
        while at <= last_header_at:
            flags, topic_octets, body_octets = unpack(data, at)
            body_at = at + header_octets + topic_octets
            next_at = body_at + body_octets
            if next_at > end and body_octets <= limit:
                self._needed = next_at - at
                break
            topic = data[at + header_octets : body_at]
            if flags or not body_octets or body_octets > limit:
                route = SINGLY_ROUTE
            elif topic != last_topic:
                route = routes[topic]
            elif body_octets == last_body_octets:
                # the same header again: compare octets, and see how far that holds
                stride = next_at - at
                frames = _frames_alike(data, at, stride, data[at:body_at])
                at += frames * stride
                run_count += frames
                route.messages += frames
                route.octets += frames * stride
                continue
            targets = route.targets or SINGLY
            if targets is not run_targets:
                if run_count:
                    leaving = runs.add(run_targets, run_route, data[run_at:at], run_count)
                    packets += run_count
                    run_at, run_count, run_targets, last_topic = at, 0, NOBODY, None
                    if leaving:
                        self.unread = end - at
                        yield from leaving
                        # routes may have changed meanwhile: look this frame up again
                        continue
                run_at, run_targets, run_route = at, targets, route
                if targets is SINGLY:
                    yield from runs.take()
                    packets += 1
                    self.unread = max(0, end - next_at)
                    if body_octets > limit:
                        self._skip = max(0, next_at - end)
                        yield Oversize(topic_octets, body_octets)
                    else:
                        yield Packet(flags, data[body_at - topic_octets : body_at], data[body_at:next_at])
                    run_at = at = next_at
                    run_targets, last_topic = NOBODY, None
                    continue
            elif route is not run_route:
                run_route = None if run_count else route
            run_count += 1
            route.messages += 1
            route.octets += next_at - at
            last_topic, last_body_octets = topic, body_octets
            at = next_at
        self.unread = end - at
        if run_count:
            yield from runs.add(run_targets, run_route, data[run_at:at], run_count)
        yield from runs.take()
        self.packets += packets + run_count
        if at < end:
            self._held = data[at:]

    def _joined(self, data: bytes) -> bytes:
        """Return `data` behind what is held, less what is to be skipped; empty while still too short."""
        if self._skip:
            skipped = min(self._skip, len(data))
            self._skip -= skipped
            data = data[skipped:]
        held = self._held
        if not held:
            self._needed = HEADER_OCTETS
            return data
        if len(held) + len(data) < self._needed:
            if isinstance(held, bytes):
                held = self._held = bytearray(held)
            held += data
            return b""
        self._held, self._needed = b"", HEADER_OCTETS
        return bytes(held) + data


class _Runs:
    """The closed runs of one read. Those for one receiver, or none, are gathered: traffic for many such receivers then
    reaches each of them whole, however it was shuffled.

    That keeps the order of every receiver, since a run for several lets all that were gathered go first; and the order
    within every topic, since a topic's targets do not change within a gathering.
    """

    __slots__ = ("_gathered",)

    def __init__(self) -> None:
        #: Targets → number of frames, their one route or None, and their octets piece by piece.
        self._gathered: dict[Targets, list[Any]] = {}

    def add(self, targets: Targets, route: Route | None, data: bytes, count: int) -> Iterable[Publication]:
        """Close a run; returns what has to leave now."""
        if not targets.is_single:
            return (*self.take(), Publication(WIRE, data, count, targets, route))
        former = self._gathered.get(targets)
        if former is None:
            self._gathered[targets] = [count, route, data]
        else:
            former[0] += count
            if route is not former[1]:
                former[1] = None
            former.append(data)
        return ()

    def take(self) -> Iterable[Publication]:
        """Let go of everything gathered."""
        if not self._gathered:
            return ()
        gathered, self._gathered = self._gathered, {}
        return [
            Publication(WIRE, b"".join(pieces), count, targets, route)
            for targets, (count, route, *pieces) in gathered.items()
        ]


def _frames_alike(data: bytes, at: int, stride: int, header: bytes) -> int:
    """Count the whole frames from `at` on that begin with `header`, each `stride` octets after the one before.

    The first are compared one by one. A run that has proved long is then compared by columns: one strided slice takes
    the same octet of many headers at a time, some ten times faster a frame. The window of frames grows with the run,
    so that what is compared in vain stays in proportion to what was found.
    """
    whole = (len(data) - at) // stride
    found = 0
    starts = data.startswith
    one_by_one = min(whole, 4 * len(header))
    while found < one_by_one and starts(header, at + found * stride):
        found += 1
    if found < one_by_one:
        return found
    window = found
    while found < whole:
        window = min(2 * window, whole - found)
        alike = window
        first = at + found * stride
        for offset in range(len(header)):
            column = data[first + offset : first + offset + (alike - 1) * stride + 1 : stride]
            octet = header[offset : offset + 1]
            if column != octet * alike:
                alike -= len(column.lstrip(octet))
                if not alike:
                    return found
        found += alike
        if alike < window:
            break
    return found
