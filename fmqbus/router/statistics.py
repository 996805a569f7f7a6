"""What is counted, of the bus and of each peer. Counting is per run, so it costs the hot path nothing per message."""

from __future__ import annotations


class Traffic:
    """Counters of one peer, or of the whole bus. They only rise."""

    __slots__ = ("_losses", "_refusals", "messages_in", "messages_out", "octets_in", "octets_out")

    def __init__(self) -> None:
        #: Well-formed units received.
        self.messages_in = 0
        #: Publications handed to the peer's protocol.
        self.messages_out = 0
        #: Octets read from, and written to, the peer's link.
        self.octets_in = 0
        self.octets_out = 0
        # made when first needed: most peers never lose anything
        self._losses: dict[str, int] | None = None
        self._refusals: dict[str, int] | None = None

    @property
    def losses(self) -> dict[str, int]:
        """Messages on their way to a peer that an outbox let go, by reason, such as ``outbox-full``."""
        return dict(self._losses or {})

    @property
    def refusals(self) -> dict[str, int]:
        """What a peer said that was discarded, by reason, such as ``refused``, ``topic-utf8``."""
        return dict(self._refusals or {})

    @property
    def drops(self) -> dict[str, int]:
        """Messages not delivered or not accepted, by reason: losses and refusals together."""
        drops = self.losses
        for reason, messages in (self._refusals or {}).items():
            drops[reason] = drops.get(reason, 0) + messages
        return drops

    def lose(self, reason: str, messages: int) -> None:
        """Count messages lost for a reason; reasons are our own words, never a peer's."""
        if self._losses is None:
            self._losses = {}
        self._losses[reason] = self._losses.get(reason, 0) + messages

    def refuse(self, reason: str, messages: int = 1) -> None:
        """Count what was discarded for a reason; as `lose`."""
        if self._refusals is None:
            self._refusals = {}
        self._refusals[reason] = self._refusals.get(reason, 0) + messages

    @property
    def dropped(self) -> int:
        """All drops together."""
        return sum((self._losses or {}).values()) + sum((self._refusals or {}).values())

    def add(self, other: Traffic) -> None:
        """Add another's counters to these."""
        self.messages_in += other.messages_in
        self.messages_out += other.messages_out
        self.octets_in += other.octets_in
        self.octets_out += other.octets_out
        for reason, messages in (other._losses or {}).items():
            self.lose(reason, messages)
        for reason, messages in (other._refusals or {}).items():
            self.refuse(reason, messages)
