"""What do the specifications require, do we keep it, and which tests show it?

Each protocol's tests have it in `requirements.toml`, in our words. The conformance statements in the documentation are
made of these files (`tests.docs.conformance`), and the tests of each protocol's page hold them to what the tests say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import attrs

from tests.protocols.pages import ROOT, Row

#: What `level` may be; empty where the text states something without such a word.
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "")


@attrs.frozen
class Requirement(Row):
    """One thing that a specification asks for."""

    #: How strongly it does; one of `LEVELS`.
    level: str
    #: What it asks for, in our words.
    says: str
    #: What we do instead; empty if we keep it.
    departs: str


@cache
def requirements_in(folder: Path) -> Sequence[Requirement]:
    """Those of one protocol, by the folder of its tests."""
    found = tomllib.loads((folder / "requirements.toml").read_text(encoding="utf-8"))["requirement"]
    return [
        Requirement(
            each["id"],
            each["section"],
            each["tests"],
            folder,
            each.get("level", ""),
            each["says"],
            each.get("departs", ""),
        )
        for each in found
    ]


def requirements_of(protocol: str) -> Sequence[Requirement]:
    """Those of one protocol, by its name."""
    return requirements_in(ROOT / "tests" / "protocols" / protocol)
