"""Which queues does a worker serve, and how gladly? (eMQP, INFORM of a worker)

The specification shows ``[40, 'email']`` between commas; EventMQ sends JSON, ``[[10, "default"]]``; others send names.
All are read. A higher weight is served first; names without one have that of EventMQ's default.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from fmqbus import names
from fmqbus.errors import InvalidName, PeerError

DEFAULT_QUEUE = b"default"
DEFAULT_WEIGHT = 10

#: Of one worker: more would keep others waiting while it INFORMs.
MOST_QUEUES = 256
#: Names that are remembered once they have been read; each has Limits.control_octets at most.
_REMEMBERED = 64
#: Weights beyond are cut to it: so many different ones are enough.
MOST_WEIGHT = 1_000
#: ``[40, 'email']`` with any quotes, and what may stand between two of them.
_SPECIFIED = re.compile(r"\[\s*+(-?\d{1,10}+)\s*+,\s*+(?:'([^'\]]*+)'|\"([^\"\]]*+)\")\s*+\]\s*+(?:,\s*+|$)")


class Weighted(NamedTuple):
    """A queue, and how gladly it is served."""

    weight: int
    queue: bytes


@lru_cache(_REMEMBERED)
def parse_queue(octets: bytes) -> bytes:
    """The bus's name of a queue that a peer names; none is the default one. Raises `InvalidName`, also for a wildcard
    and below ``$``."""
    if not octets:
        return DEFAULT_QUEUE
    name = names.parse(octets)
    if names.is_wild(name) or names.is_service(name):
        raise InvalidName("neither a wildcard nor a service topic is a queue", "queue-name")
    return name


def parse_queues(octets: bytes) -> tuple[Weighted, ...]:
    """Read a list of queues, which must be UTF-8; the most gladly served first. None is the default queue.

    Raises `PeerError` with reason ``queues``, or `InvalidName`.
    """
    text = octets.decode().strip()
    weights: dict[bytes, int] = {}
    for weight, name in _pairs(text) or [(DEFAULT_WEIGHT, "")]:
        queue = parse_queue(name.encode("utf-8", "surrogatepass"))
        weights[queue] = max(weight, weights.get(queue, weight))
    if len(weights) > MOST_QUEUES:
        raise PeerError(f"{len(weights)} queues, at most {MOST_QUEUES}", "queues")
    return tuple(sorted((Weighted(weight, queue) for queue, weight in weights.items()), key=lambda one: -one.weight))


def write_queues(queues: Iterable[Weighted]) -> bytes:
    """As EventMQ writes them."""
    return json.dumps([[weight, queue.decode()] for weight, queue in queues]).encode()


def _pairs(text: str) -> list[tuple[int, str]]:
    for read in (_from_json, _from_specification):
        if (pairs := read(text)) is not None:
            return pairs
    if re.search(r"[\[\]{}\"']", text):
        raise PeerError(f"queues {text[:40]!r}", "queues")
    return [(DEFAULT_WEIGHT, name.strip()) for name in text.split(",") if name.strip()]


def _from_json(text: str) -> list[tuple[int, str]] | None:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(items, list):
        return None
    return [_pair(item) for item in items]


def _pair(item: object) -> tuple[int, str]:
    match item:
        case str(name):
            return DEFAULT_WEIGHT, name
        case [int(weight), str(name)] if not isinstance(weight, bool):
            return max(-MOST_WEIGHT, min(weight, MOST_WEIGHT)), name
    raise PeerError("a list of queues has weights and names", "queues")


def _from_specification(text: str) -> list[tuple[int, str]] | None:
    """``[40, 'email'], [10, 'x']``, also within brackets."""
    if text.startswith("[[") and text.endswith("]]"):
        text = text[1:-1]
    pairs, at = [], 0
    while at < len(text):
        match = _SPECIFIED.match(text, at)
        if match is None:
            return None
        weight, single, double = match.groups()
        pairs.append(_pair([int(weight), single if double is None else double]))
        at = match.end()
    return pairs
