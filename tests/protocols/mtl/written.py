"""MTL's vectors: parts as they travel between the sockets, and what they must bring about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from tests import vectors
from tests.vectors.zmtp import messages

Parts = Sequence[bytes]


@attrs.frozen(kw_only=True)
class PartsVector:
    """One message."""

    name: str
    #: ``control``, ``data``, or ``zmtp`` for octets of the TCP stream.
    flow: str
    #: ``client->broker`` or ``broker->client``.
    direction: str
    parts: Parts
    #: The messages that must come back; None where the vector does not say.
    reply: Sequence[Parts] | None


def _vector(row: dict[str, Any]) -> PartsVector:
    parts = _octets(row["hex"])
    reply = row.get("reply")
    return PartsVector(
        name=row["name"],
        flow=row["flow"],
        direction=row["direction"],
        parts=next(messages(parts[0])) if row["flow"] == "zmtp" else parts,
        reply=None if reply is None else [_octets(message) for message in reply],
    )


def _octets(texts: Sequence[str]) -> list[bytes]:
    return list(map(bytes.fromhex, texts))


def _load() -> dict[str, PartsVector]:
    rows = json.loads(Path(vectors.__file__).with_name("mtl.json").read_text(encoding="utf-8"))["vectors"]
    return {row["name"]: _vector(row) for row in rows}


#: By their names.
VECTORS = _load()


def comparable(parts: Parts) -> list[Any]:
    """A message such that equal ones mean the same: JSON as JSON, and commands without their case."""
    if parts[:1] != [b""]:
        return list(parts)
    return [parts[0], parts[1].lower(), json.loads(parts[2])]
