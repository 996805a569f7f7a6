"""How are messages numbered? (MicroMsg2, MESSAGE frame, batch-ack)

Numbers have two octets. Each direction of each connection begins with 1, and 1 follows 65535; 0 is never a message
(readings 36, 37). So there are 65535 of them, and all arithmetic is modulo that.
"""

from __future__ import annotations

from functools import cache

import attrs

LAST = 0xFFFF


@attrs.define(slots=True)
class Numbers:
    """The numbers last used on one connection; 0 for none yet. Only the connection changes them."""

    sent: int = 0
    received: int = 0


def after(number: int, steps: int = 1) -> int:
    """The number so many steps after another; after 0, that is none, comes 1."""
    return (number - 1 + steps) % LAST + 1


def distance(earlier: int, later: int) -> int:
    """How many steps lead from one number to another, which has to be less than 65535 of them."""
    return (later - earlier) % LAST


def is_reached(number: int, up_to: int) -> bool:
    """Whether a number is among those up to another one, of numbers that lie within half a round (`Limits.window`)."""
    return distance(number, up_to) <= LAST // 2


def octets_of(first: int, count: int) -> list[bytes]:
    """So many numbers, from `first` on, as they are written."""
    written = _all()
    numbers = written[first : first + count]
    return numbers if len(numbers) == count else numbers + octets_of(1, count - len(numbers))


def columns_of(first: int, count: int) -> tuple[bytes, bytes]:
    """The same, as columns: the high octets of all of them, and the low ones."""
    written = _all_together()
    octets = written[2 * first : 2 * (first + count)]
    while len(octets) < 2 * count:
        octets += written[2 : 2 * (count + 1) - len(octets)]
    return octets[::2], octets[1::2]


@cache
def _all() -> list[bytes]:
    """Some 3 MB, once: to slice it is ten times as fast as to write each number."""
    return [number.to_bytes(2, "big") for number in range(LAST + 1)]


@cache
def _all_together() -> bytes:
    return b"".join(_all())
