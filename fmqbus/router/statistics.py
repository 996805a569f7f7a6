"""What is counted, of the bus and of each peer. Counting is per run, so it costs the hot path nothing per message."""

from __future__ import annotations


class Traffic:
    """Counters of one peer, or of the whole bus. They only rise."""

    __slots__ = ("_drops", "messages_in", "messages_out", "octets_in", "octets_out")

    def __init__(self) -> None:
        #: Well-formed units received.
        self.messages_in = 0
        #: Publications handed to the peer's protocol.
        self.messages_out = 0
        #: Octets read from, and written to, the peer's link.
        self.octets_in = 0
        self.octets_out = 0
        # made when first needed: most peers never lose anything
        self._drops: dict[str, int] | None = None

    @property
    def drops(self) -> dict[str, int]:
        """Messages not delivered or not accepted, by reason, such as ``outbox-full``, ``refused``, ``topic-utf8``."""
        return dict(self._drops or {})

    def drop(self, reason: str, messages: int = 1) -> None:
        """Count messages lost for a reason; reasons are our own words, never a peer's."""
        if self._drops is None:
            self._drops = {}
        self._drops[reason] = self._drops.get(reason, 0) + messages

    @property
    def dropped(self) -> int:
        """All drops together."""
        return sum((self._drops or {}).values())

    def add(self, other: Traffic) -> None:
        """Add another's counters to these."""
        self.messages_in += other.messages_in
        self.messages_out += other.messages_out
        self.octets_in += other.octets_in
        self.octets_out += other.octets_out
        for reason, messages in (other._drops or {}).items():
            self.drop(reason, messages)
