"""Messages of parts as they are written on TCP: what ZeroMQ does before anybody of ours sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_MORE, _LONG = 1, 2


def messages(octets: bytes) -> Iterator[list[bytes]]:
    """The messages in ZMTP 3 frames, each a list of parts. What is left over at the end is no message."""
    parts: list[bytes] = []
    at = 0
    while at < len(octets):
        flags = octets[at]
        body_at = at + (9 if flags & _LONG else 2)
        at = body_at + int.from_bytes(octets[at + 1 : body_at], "big")
        if at > len(octets) or body_at > len(octets):
            return
        parts.append(octets[body_at:at])
        if not flags & _MORE:
            yield parts
            parts = []


def frames(parts: Sequence[bytes]) -> bytes:
    """One message in ZMTP 3 frames."""
    return b"".join(_frame(part, _MORE if at < len(parts) else 0) for at, part in enumerate(parts, 1))


def _frame(part: bytes, flags: int) -> bytes:
    if len(part) < 256:
        return bytes((flags, len(part))) + part
    return bytes((flags | _LONG,)) + len(part).to_bytes(8, "big") + part
