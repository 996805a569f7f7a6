"""What is a topic name, and when are two equivalent? (FMQP, section Topics)

A name is kept as the UTF-8 octets of its levels joined by ``/``, without outer slashes: that trimmed
form is what is stored, compared, cached and handed on. A level that is exactly ``*`` is equivalent to
any one level, on either side. Equivalence is symmetric but **not transitive** (``a`` ~ ``*`` ~ ``b``),
so names are never grouped by it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TypeVar

from fmqbus.errors import InvalidName

T = TypeVar("T")

#: The longest name in octets: FMQP's topic length field has one octet. The whole bus keeps to it, so that
#: every name can be said in every protocol.
MAX_OCTETS = 255

STAR = b"*"
SERVICE_LEVEL = b"$"


def parse(raw: bytes) -> bytes:
    """Return the trimmed form of a name as a peer wrote it.

    Raises `InvalidName` with reason ``topic-empty``, ``topic-nul``, ``topic-utf8`` or ``topic-long``.
    """
    name = raw.strip(b"/")
    if not name:
        raise InvalidName("no level between the slashes", "topic-empty")
    if len(name) > MAX_OCTETS:
        raise InvalidName(f"{len(name)} octets, at most {MAX_OCTETS}", "topic-long")
    if 0 in name:
        raise InvalidName("U+0000 is not allowed", "topic-nul")
    if not name.isascii():
        try:
            name.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidName(str(error), "topic-utf8") from None
    return name


def from_text(text: str) -> bytes:
    """Return the trimmed octets of a name given as text; raises `InvalidName` as `parse` does."""
    try:
        return parse(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidName(str(error), "topic-utf8") from None


def to_text(name: bytes) -> str:
    """Return a checked name as text."""
    return name.decode("utf-8")


def is_wild(name: bytes) -> bool:
    """Tell whether any whole level is ``*``. A star inside a level is literal."""
    return STAR in name and STAR in name.split(b"/")


def is_service(name: bytes) -> bool:
    """Tell whether the first level is exactly ``$`` (FMQP, section Service topics); ``$sys/a`` is ordinary."""
    return name[:1] == SERVICE_LEVEL and name.partition(b"/")[0] == SERVICE_LEVEL


def equivalent(one: bytes, other: bytes) -> bool:
    """Tell whether two names are equivalent (FMQP, section Equivalence of topics)."""
    ones, others = one.split(b"/"), other.split(b"/")
    return len(ones) == len(others) and all(a == b or a == STAR or b == STAR for a, b in zip(ones, others, strict=True))


def first_fit(rules: Iterable[tuple[bytes, T]], name: bytes, otherwise: T) -> T:
    """What the first rule says whose pattern is equivalent to the name."""
    return next((value for pattern, value in rules if equivalent(pattern, name)), otherwise)


def page(known: Iterable[bytes], after: bytes, most: int | None) -> list[bytes]:
    """The names beyond one, in order; so many at most. What is left out costs little."""
    later = (name for name in known if name > after)
    return sorted(later) if most is None else heapq.nsmallest(most, later)


def meet(one: bytes, other: bytes) -> bytes:
    """Return what two equivalent names have in common: at each level the literal of either, ``*`` where neither has
    one."""
    pairs = zip(one.split(b"/"), other.split(b"/"), strict=True)
    return b"/".join(b if a == STAR else a for a, b in pairs)
