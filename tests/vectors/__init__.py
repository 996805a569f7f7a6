"""What does a protocol look like on the wire? Octets, with what they mean and what they must bring about.

One JSON file per protocol. The mending of a mistake adds the octets that showed it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Vector:
    """What one side writes to a stream, and what must come of it."""

    name: str
    #: ``client->broker`` or ``broker->client``.
    direction: str
    octets: bytes
    meaning: str
    expect: str
    #: The section of the specification.
    spec: str
    #: What must have happened first, in words.
    after: tuple[str, ...]
    #: What the same connection must get; None where the vector does not say.
    reply: tuple[bytes, ...] | None
    #: What a matching other subscriber must get; None where the vector does not say.
    deliver_to_others: tuple[bytes, ...] | None
    #: Where the specification leaves the reading open.
    ambiguous: str


def load(protocol: str) -> list[Vector]:
    """Return the vectors of a protocol, in the order of its file."""
    text = Path(__file__).with_name(f"{protocol}.json").read_text(encoding="utf-8")
    return [_vector(row) for row in json.loads(text)["vectors"]]


def _vector(row: dict[str, Any]) -> Vector:
    return Vector(
        name=row["name"],
        direction=row["direction"],
        octets=bytes.fromhex(row["hex"]),
        meaning=row["meaning"],
        expect=row["expect"],
        spec=row["spec"],
        after=tuple(row.get("after", ())),
        reply=_packets(row.get("reply")),
        deliver_to_others=_packets(row.get("deliver_to_others")),
        ambiguous=row.get("ambiguous", ""),
    )


def _packets(texts: list[str] | None) -> tuple[bytes, ...] | None:
    return None if texts is None else tuple(map(bytes.fromhex, texts))
