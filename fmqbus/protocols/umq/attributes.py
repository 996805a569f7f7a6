"""What has the other side set on this connection? (UMQ, commands S and X; readings 39 to 43)"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fmqbus.protocols.umq.attachments import Attachment, octets_of
from fmqbus.protocols.umq.codec import Fault


class Attribute(NamedTuple):
    """A value, with what was attached to it."""

    text: str
    attachments: Sequence[Attachment] = ()

    @property
    def octets(self) -> int:
        """What it counts against the bounds."""
        return len(self.text) + sum(map(octets_of, self.attachments))


class Attributes(Mapping[str, Attribute]):
    """Those of one peer: for the application to read."""

    __slots__ = ("_attributes", "_most", "_most_octets", "_octets")

    def __init__(self, most: int, most_octets: int) -> None:
        self._attributes: dict[str, Attribute] = {}
        self._most = most
        self._most_octets = most_octets
        self._octets = 0

    def __getitem__(self, name: str) -> Attribute:
        return self._attributes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def set(self, payload: bytes, attachments: Sequence[Attachment]) -> bool:
        """Read ``name=value``; the first ``=`` counts, and blanks belong to what they stand in. False, and nothing has
        changed, beyond the bounds: there is no word to say so (reading 41). Raises `Fault` without ``=``."""
        name, equals, text = payload.decode("utf-8", "replace").partition("=")
        if not equals:
            raise Fault("an attribute has no value")
        new = Attribute(text, attachments)
        former = self._attributes.get(name)
        octets = self._octets + new.octets + (len(name) if former is None else -former.octets)
        if octets > self._most_octets or (former is None and len(self._attributes) >= self._most):
            return False
        self._attributes[name] = new
        self._octets = octets
        return True

    def unset(self, payload: bytes) -> bool:
        """False if there is none of this name (reading 42)."""
        name = payload.decode("utf-8", "replace")
        former = self._attributes.pop(name, None)
        if former is None:
            return False
        self._octets -= former.octets + len(name)
        return True
