"""The vectors of UMQ: messages, where other protocols have octets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fmqbus.testing.umq import Unit

VECTORS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("umq.json").read_text(encoding="utf-8"))["vectors"]


def units_of(vector: dict[str, Any]) -> list[Unit]:
    """The messages of a vector, in order."""
    units: list[Unit] = [vector["text"]] if vector["text"] or "binary" not in vector else []
    return units + [_unit(written) for written in vector.get("binary", ())]


def _unit(written: str) -> Unit:
    """What is no number in base 16 is text: ``binary`` lists both."""
    try:
        return bytes.fromhex(written)
    except ValueError:
        return written
