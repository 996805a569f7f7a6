"""Which queues is a worker told to serve on its command line? ``default:10,email:40``: names, and how gladly."""

from __future__ import annotations

from fmqbus.errors import BusError, ConfigError
from fmqbus.protocols.emqp.queue_lists import DEFAULT_WEIGHT, MOST_WEIGHT, Weighted, parse_queue


def parse_served(text: str) -> tuple[Weighted, ...]:
    """The queues, the most gladly served first. Raises `ConfigError`."""
    served = tuple(_served(word.strip()) for word in text.split(",") if word.strip())
    if not served:
        raise ConfigError("no queue to serve")
    if len({queue for _, queue in served}) < len(served):
        raise ConfigError(f"{text!r} has a queue twice")
    return tuple(sorted(served, key=lambda one: -one.weight))


def _served(word: str) -> Weighted:
    name, colon, digits = word.partition(":")
    weight = DEFAULT_WEIGHT
    if colon:
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 4 and int(digits) <= MOST_WEIGHT):
            raise ConfigError(f"{word!r}: a weight is 0 to {MOST_WEIGHT}")
        weight = int(digits)
    if not name:
        raise ConfigError(f"{word!r} names no queue")
    try:
        return Weighted(weight, parse_queue(name.encode()))
    except BusError as error:
        raise ConfigError(f"{name!r} is no queue: {error}") from None
