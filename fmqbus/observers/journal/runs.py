"""What of a run is left without its payloads? Its heads, of which one is enough where all are alike."""

from __future__ import annotations

from fmqbus.journal.entries import PACKET_HEAD

_HEAD_OCTETS = PACKET_HEAD.size


def heads_of(data: bytes, count: int) -> bytes:
    """The heads of so many packets, or of one that stands for all."""
    _, topic_octets, body_octets = PACKET_HEAD.unpack_from(data)
    head_octets = _HEAD_OCTETS + topic_octets
    stride = head_octets + body_octets
    head = data[:head_octets]
    if count * stride == len(data) and all(
        data[at::stride] == head[at : at + 1] * count for at in range(head_octets if count > 1 else 0)
    ):
        return head
    heads = []
    at, end = 0, len(data)
    while at < end:
        _, topic_octets, body_octets = PACKET_HEAD.unpack_from(data, at)
        body_at = at + _HEAD_OCTETS + topic_octets
        heads.append(data[at:body_at])
        at = body_at + body_octets
    return b"".join(heads)
