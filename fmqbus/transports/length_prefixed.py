"""Units on a plain stream: a kind and a length before each. The least that a carrier of units can be.

====== ==========================================================
octets
====== ==========================================================
1      0 for text, 1 for binary
4      how many octets follow, the most significant first
n      the unit; text is UTF-8
====== ==========================================================

A kind that there is not, a length beyond `Limits.body_octets`, and text that is no UTF-8 end the connection. There is
no goodbye: who has said all that he has to say closes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import attrs
from zope.interface import implementer

from fmqbus.errors import FramingLost
from fmqbus.interfaces import IFraming, IListener
from fmqbus.transports.units import PIECE_OCTETS, Begin, LinkFactory, UnitLink
from fmqbus.turns import Turns

_HEADER = struct.Struct("!BI")
_TEXT, _BINARY = 0, 1


def encode_unit(is_binary: bool, octets: bytes) -> Iterator[bytes]:
    """The octets of a unit, in pieces of some `PIECE_OCTETS`."""
    yield _HEADER.pack(_BINARY if is_binary else _TEXT, len(octets)) + octets[:PIECE_OCTETS]
    for at in range(PIECE_OCTETS, len(octets), PIECE_OCTETS):
        yield octets[at : at + PIECE_OCTETS]


class UnitDecoder:
    """Octets to units, however they are cut. No I/O."""

    def __init__(self, most_octets: int) -> None:
        """`most_octets` is how long a unit may be."""
        self._most_octets = most_octets
        self._unread = bytearray()

    @property
    def held(self) -> int:
        """Octets of a unit that has not fully come."""
        return len(self._unread)

    def feed(self, data: bytes) -> Iterator[tuple[bool, bytes]]:
        """The units that are now complete: whether it is binary, and its octets. Raises `FramingLost`."""
        unread = self._unread
        unread += data
        at = 0
        try:
            while len(unread) - at >= _HEADER.size:
                kind, length = _HEADER.unpack_from(unread, at)
                if kind > _BINARY or length > self._most_octets:
                    raise FramingLost(f"kind {kind}, {length} octets")
                end = at + _HEADER.size + length
                if end > len(unread):
                    break
                unit = bytes(unread[at + _HEADER.size : end])
                if kind == _TEXT:
                    _check_text(unit)
                at = end
                yield kind == _BINARY, unit
        finally:
            del unread[:at]


def _check_text(unit: bytes) -> None:
    try:
        unit.decode()
    except UnicodeDecodeError:
        raise FramingLost("text that is no UTF-8") from None


class LengthPrefixedLink(UnitLink):
    """A connection whose units have their kind and length before them."""

    def __init__(self, listener: IListener, turns: Turns, begin: Begin) -> None:
        super().__init__(listener, turns, begin)
        self._decoder = UnitDecoder(listener.limits.body_octets)

    def units_in(self, data: bytes) -> Iterator[None]:
        try:
            for is_binary, unit in self._decoder.feed(data):
                self.unit_arrived(is_binary, unit)
                yield
        except FramingLost as error:
            self.complain(str(error))
            self.abort("framing")

    def framed(self, is_binary: bool, octets: bytes) -> Iterator[bytes]:
        return encode_unit(is_binary, octets)

    @property
    def held(self) -> int:
        return self._decoder.held

    def forget_half_received(self) -> None:
        self._decoder = UnitDecoder(self.listener.limits.body_octets)


@implementer(IFraming)
@attrs.frozen
class LengthPrefixed:
    """This way of framing."""

    def make_factory(self, listener: IListener, turns: Turns, begin: Begin) -> LinkFactory:
        return LinkFactory(lambda: LengthPrefixedLink(listener, turns, begin))
