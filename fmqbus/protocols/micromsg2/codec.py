"""MicroMsg2 frames: octets to events, however they are cut. No I/O, no clock, no router. (MicroMsg2, Frame prefix)

The lengths in a frame's head lead from one to the next, so each is checked as soon as it is there, and no more is
waited for than the next one needs. Nothing above the limits is ever held.

`Decoder.feed` has two lanes. Messages in one frame that follow each other to the same destination are one `Run`; where
the head is that of the frame before, which octets tell, it is not even parsed. What came in several frames leaves as
`Received`, everything else as what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import attrs

from fmqbus.errors import FramingLost
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.fields import Pairs, parse_pairs, to_octets, to_text, write_pairs
from fmqbus.protocols.micromsg2.frames import (
    COMMAND,
    CONTINUED,
    ERROR,
    EXTENSION,
    FLAGS,
    LARGE_PAYLOAD,
    Frames,
    Received,
    encode_control,
    parse_head,
)

_MAX_ERROR_OCTETS = 0xFF
_LARGE_LENGTH_OCTETS = 4
#: Neither a message nor one of these is no frame: several type bits, a bit without a name, a part of what cannot be
#: continued (readings 31, 32 and 46).
_CONTROLS = {kind | large: kind for kind in (COMMAND, EXTENSION, ERROR) for large in (0, LARGE_PAYLOAD)}
_WHOLE = {0, LARGE_PAYLOAD}
_MESSAGES = _WHOLE | {CONTINUED | large for large in _WHOLE}
_NO_FLAGS = -1


class Run(NamedTuple):
    """Whole messages to one destination, each in one frame, under the numbers they came with."""

    destination: bytes
    frames: Frames


@attrs.frozen(slots=True)
class Part:
    """A frame of a message that goes on in the next one. It has a number, which the other side may wait for."""

    number: int


@attrs.frozen(slots=True)
class Command:
    """A COMMAND frame."""

    #: In lower case (reading 58).
    name: str
    arguments: Pairs = ()


@attrs.frozen(slots=True)
class Extension:
    """An EXTENSION frame."""

    index: int
    payload: bytes


@attrs.frozen(slots=True)
class Error:
    """An ERROR frame."""

    text: str


Event = Run | Received | Part | Command | Extension | Error


def encode_command(name: str, arguments: Pairs) -> list[bytes]:
    """A COMMAND frame: ``name;k=v,k=v``."""
    return encode_control(COMMAND, to_octets(f"{name};{write_pairs(arguments)}" if arguments else name))


def encode_extension(index: int, payload: bytes) -> list[bytes]:
    """An EXTENSION frame."""
    return encode_control(EXTENSION, payload, bytes((index,)))


def encode_error(text: str) -> list[bytes]:
    """An ERROR frame. Its text is cut to 255 octets (reading 29), and harmless to show: it may quote the other side."""
    printable = "".join(letter if " " <= letter <= "~" else "?" for letter in text[:_MAX_ERROR_OCTETS])
    return encode_control(ERROR, printable.encode())


@attrs.define(slots=True)
class _Unfinished:
    """A message of which not all frames are there: what its first one said, and the payloads so far (reading 45)."""

    destination: bytes
    properties: bytes
    payload: bytearray = attrs.field(factory=bytearray)


class Decoder:
    """Turns one direction of a connection, from the end of the handshake, into events."""

    __slots__ = ("_control_limit", "_held", "_needed", "_payload_limit", "_room", "_unfinished")

    def __init__(self, limits: Limits) -> None:
        self._payload_limit = limits.body_octets
        #: What the unfinished message may still grow by.
        self._room = limits.body_octets
        self._control_limit = limits.control_octets
        self._held: bytes | bytearray = b""
        self._needed = 0
        self._unfinished: _Unfinished | None = None

    @property
    def held(self) -> int:
        """Octets held for what has not fully arrived."""
        return len(self._held) + self._payload_limit - self._room

    def feed(self, data: bytes) -> Iterator[Event]:
        """Take what one read brought; yield what it completes, in order.

        Raises `FramingLost`, after all that came before, where the octets are no frame or too large a one; the
        decoder is of no use any more. The iterator must be used up before the next call.
        """
        data = self._joined(data)
        at, end = 0, len(data)
        starts = data.startswith
        # the open run: data[run_at:at], all of it to this destination
        run: list[bytes] = []
        run_at = 0
        destination: bytes | None = None
        # its last frame, as far as the next one may be like it
        last_flags, head = _NO_FLAGS, b""
        frame_octets = payload_octets = 0
        problem: FramingLost | None = None
        while at < end:
            flags = data[at]
            if flags == last_flags and starts(head, at + 3):
                next_at = at + frame_octets
                if next_at > end:
                    self._needed = frame_octets
                    break
                run += (FLAGS[flags], data[at + 1 : at + 3], head, data[next_at - payload_octets : next_at])
                at = next_at
                continue
            try:
                payload_at, next_at = self._measure(data, at, flags)
            except FramingLost as error:
                problem = error
                break
            if next_at > end:
                self._needed = next_at - at
                break
            joins_run = flags in _WHOLE and self._unfinished is None
            to = data[at + 4 : at + 4 + data[at + 3]] if joins_run else None
            if to != destination:
                if destination is not None:
                    yield Run(destination, Frames(run, at - run_at))
                run, run_at, destination, last_flags = [], at, to, _NO_FLAGS
            if to is None:
                yield self._read(data[at:payload_at], data[payload_at:next_at])
            else:
                last_flags, head = flags, data[at + 3 : payload_at]
                frame_octets, payload_octets = next_at - at, next_at - payload_at
                run += (FLAGS[flags], data[at + 1 : at + 3], head, data[payload_at:next_at])
            at = next_at
        if destination is not None:
            yield Run(destination, Frames(run, at - run_at))
        if problem is not None:
            raise problem
        if at < end:
            self._held = data[at:]

    def _joined(self, data: bytes) -> bytes:
        """Return `data` behind what is held; empty while that is still too short."""
        held = self._held
        if not held:
            return data
        if len(held) + len(data) < self._needed:
            if isinstance(held, bytes):
                held = self._held = bytearray(held)
            held += data
            return b""
        self._held = b""
        return bytes(held) + data

    def _measure(self, data: bytes, at: int, flags: int) -> tuple[int, int]:
        """Return where the payload of a frame begins and where it ends. If that cannot be told yet, both are how far
        the octets have to reach to tell more."""
        end = len(data)
        if flags in _MESSAGES:
            limit = self._room
            reach = at + 4
            if reach > end:
                return reach, reach
            reach += data[at + 3] + 2
            if reach > end:
                return reach, reach
            reach += data[reach - 2] << 8 | data[reach - 1]
        elif flags in _CONTROLS:
            limit = self._control_limit
            reach = at + (2 if flags & EXTENSION else 1)
        else:
            raise FramingLost(f"flags {flags:#04x}", "flags")
        length_at = reach
        reach += _LARGE_LENGTH_OCTETS if flags & LARGE_PAYLOAD else 1
        if reach > end:
            return reach, reach
        octets = int.from_bytes(data[length_at:reach], "big")
        if octets > limit:
            raise FramingLost("larger than is allowed here", "oversize")
        return reach, reach + octets

    def _read(self, head: bytes, payload: bytes) -> Event:
        """Read one whole frame."""
        kind = _CONTROLS.get(head[0])
        if kind == COMMAND:
            return _parse_command(payload)
        if kind == EXTENSION:
            return Extension(head[1], payload)
        if kind == ERROR:
            return Error(to_text(payload))
        number = int.from_bytes(head[1:3], "big")
        unfinished = self._unfinished
        if unfinished is None:
            unfinished = self._unfinished = _Unfinished(*parse_head(head[3:]))
        unfinished.payload += payload
        if head[0] & CONTINUED:
            self._room -= len(payload)
            return Part(number)
        self._unfinished, self._room = None, self._payload_limit
        return Received(number, unfinished.destination, unfinished.properties, bytes(unfinished.payload))


def _parse_command(payload: bytes) -> Command:
    name, _, arguments = to_text(payload).partition(";")
    return Command(name.strip().lower(), parse_pairs(arguments))
