"""How are key/value pairs and free text written in handshakes and commands? (MicroMsg2, Extension negotiation, COMMAND
frame, Definitions)

Names are FIELDs: compared without regard to case, kept as written (reading 10). Values are URL-encoded; a plus is a
plus (reading 11). Octets that are no UTF-8 survive as lone surrogates, so that whoever needs octets gets the very
ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote as _quote
from urllib.parse import unquote as _unquote

#: Names as written and values decoded, in their order; a name may come more than once.
Pairs = tuple[tuple[str, str], ...]


def to_text(octets: bytes) -> str:
    """Return the text of a handshake or a command."""
    return octets.decode("utf-8", "surrogateescape")


def to_octets(text: str) -> bytes:
    """Return what `to_text` had of it."""
    return text.encode("utf-8", "surrogateescape")


def quote(value: str) -> str:
    """URL-encode all that could be syntax."""
    return _quote(value, safe="", errors="surrogateescape")


def unquote(value: str) -> str:
    """Undo `quote`; a stray percent sign stands for itself."""
    return _unquote(value, errors="surrogateescape")


def parse_pairs(text: str) -> Pairs:
    """Read ``k=v,k=v``; where there is no equals sign, a colon will do (reading 8). Empty entries are skipped."""
    return tuple(_parse_pair(pair) for pair in text.split(",") if pair)


def write_pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """Write ``k=v,k=v``."""
    return ",".join(f"{name}={quote(value)}" for name, value in pairs)


def _parse_pair(pair: str) -> tuple[str, str]:
    name, _, value = pair.partition("=" if "=" in pair else ":")
    return name, unquote(value)
