"""How can octets arrive?"""

from __future__ import annotations

import random
from collections.abc import Iterator


def single_octets(octets: bytes) -> Iterator[bytes]:
    """One by one."""
    return (octets[at : at + 1] for at in range(len(octets)))


def cut(octets: bytes, at_random: random.Random) -> Iterator[bytes]:
    """In up to five pieces, cut anywhere; some may be empty."""
    cuts = sorted(at_random.choices(range(len(octets) + 1), k=4))
    return (octets[start:end] for start, end in zip([0, *cuts], [*cuts, len(octets)], strict=True))
