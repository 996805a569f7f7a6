"""Does what a member hears on topics come in order, at most once, and without a gap? One for each member.

What a sender says under one topic has numbers. They rise as long as the connection lasts. One that is missing is a
loss: the broker's, unless the member was so slow that there was no more room for it, or the protocol promises less, or
the sender was told that it did not get through, which is for the ledger to find out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.soak.mail import KEPT, SECRET, Sender, read_remark

#: Whoever was not at work for so long was stopped; what was lost by that shows within some further seconds.
_STOPPED_SECONDS, _SHOWS_SECONDS = 1.0, 60.0


class Hearing:
    """What one member has heard."""

    def __init__(
        self,
        is_gapless: bool,
        now: Callable[[], float],
        fault: Callable[[str], None],
        missed: Callable[[str, Sender, int, int], None],
    ) -> None:
        """`missed` is told a topic, a sender, and the first and the last number that were not heard."""
        self._is_gapless = is_gapless
        self._now = now
        self._fault = fault
        self._tell_missed = missed
        #: Topic and the sender's place → his life and the number heard last.
        self._last: dict[tuple[str, str], tuple[int, int]] = {}
        self._awake_at = now()
        self._excused_until = 0.0
        self.counts: Counter[str] = Counter()

    def came(self) -> None:
        """A new connection: messages were lost with the old one, and what is kept comes again."""
        self._last.clear()

    def awake(self) -> None:
        """To be called very often."""
        now = self._now()
        if now - self._awake_at > _STOPPED_SECONDS:
            self._excused_until = now + _SHOWS_SECONDS
        self._awake_at = now

    def heard(self, topic: str, payload: bytes) -> None:
        """A message."""
        self.awake()
        self.counts["heard"] += 1
        if topic.startswith(SECRET):
            self._fault(f"heard what no rule allows: {topic}")
            return
        sender, number = read_remark(payload)
        key = (topic, sender.place)
        life, before = self._last.get(key, (0, 0))
        self._last[key] = (sender.life, number)
        if topic.startswith(f"{KEPT}/") and (not self._is_gapless or self._awake_at < self._excused_until):
            return  # comes again with each connection, of which not everybody tells
        if (sender.life, number) <= (life, before):
            self._fault(f"heard {topic} {sender} {number} behind {life} {before}")
        elif sender.life == life and number > before + 1 and not topic.startswith(f"{KEPT}/"):
            self._missed(topic, sender, before + 1, number - 1)

    def _missed(self, topic: str, sender: Sender, first: int, last: int) -> None:
        count = last - first + 1
        if not self._is_gapless:
            self.counts["missed by subscribers of eMQP"] += count
        elif self._awake_at < self._excused_until:
            self.counts["missed after a stall"] += count
        else:
            self._tell_missed(topic, sender, first, last)
