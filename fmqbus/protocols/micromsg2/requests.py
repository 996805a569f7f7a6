"""What does a producer ask of the bus, by properties of a message? (MicroMsg2, MESSAGE frame; ours)

The specification has no words for this, so they are properties: ``retain`` and ``will`` of a message to a topic,
``priority``, ``ttl`` and ``delay`` of one to a queue. A value that cannot be meant asks for nothing: it may be a
property of the application's own. All are handed on as they were written, as any other property (reading 50).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import attrs

from fmqbus.errors import LocalError
from fmqbus.model import PLAIN_TERMS, Terms

_YES = {"1", "true"}
#: By property: the term that it asks for, and how it is read.
_TERMS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "priority": ("priority", int),
    "ttl": ("time_to_live", float),
    "delay": ("delay", float),
}
#: Finds all that asks for something, and a little more, without reading the properties.
_MAY_ASK = re.compile(b"(?:retain|will|%b):" % "|".join(_TERMS).encode(), re.IGNORECASE)


def may_ask(written: bytes) -> bool:
    """Whether these properties, or a frame's head that contains them, might ask for something."""
    return bool(written) and _MAY_ASK.search(written) is not None


def is_retained(properties: Mapping[str, str]) -> bool:
    """The message becomes the retained value of its topic."""
    return properties.get("retain") in _YES


def is_will(properties: Mapping[str, str]) -> bool:
    """The message is to be published when its client has gone."""
    return properties.get("will") in _YES


def properties_of(terms: Terms) -> Mapping[str, str]:
    """How a producer asks for them."""
    return {
        name: str(value)
        for name, (term, _) in _TERMS.items()
        if (value := getattr(terms, term)) != getattr(PLAIN_TERMS, term)
    }


def terms_of(properties: Mapping[str, str]) -> Terms:
    """What is asked of a queue."""
    terms = PLAIN_TERMS
    for name, (term, read) in _TERMS.items():
        if (text := properties.get(name)) is not None:
            with suppress(ValueError, LocalError):
                terms = attrs.evolve(terms, **{term: read(text)})
    return terms
