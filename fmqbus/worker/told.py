"""Which REPLYs has the broker hardly got? Those that could not be said, and those that were said just before it fell
silent. Bounded: of very many the oldest are forgotten, and their jobs run again if the broker keeps them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from fmqbus.protocols.emqp.commands import Reply

#: Beside the bound in octets; each takes some hundred more than its body.
_MOST = 10_000


class Told:
    """The REPLYs of one worker, as far as they may be needed again."""

    def __init__(self, sure_seconds: float, most_octets: int) -> None:
        """A broker that is heard so long after a REPLY was said has got it."""
        self._sure_seconds = sure_seconds
        self._most_octets = most_octets
        self._held: deque[Reply] = deque()
        self._said: deque[tuple[float, Reply]] = deque()
        self._octets = 0

    def hold(self, reply: Reply) -> None:
        """It cannot be said now."""
        self._held.append(reply)
        self._count(reply)

    def said(self, reply: Reply, now: float) -> None:
        """It is on its way."""
        self._said.append((now, reply))
        self._count(reply)

    def broker_heard(self, now: float) -> None:
        """What was said long enough ago has arrived."""
        while self._said and now - self._said[0][0] >= self._sure_seconds:
            self._octets -= len(self._said.popleft()[1].body)

    def hold_back(self) -> None:
        """The broker was silent: whatever was said last may not have arrived."""
        self._held.extendleft(reply for _, reply in reversed(self._said))
        self._said.clear()

    def take_held(self) -> Sequence[Reply]:
        """What can be said now, in order."""
        held, self._held = self._held, deque()
        self._octets -= sum(len(reply.body) for reply in held)
        return held

    def _count(self, reply: Reply) -> None:
        self._octets += len(reply.body)
        while self._octets > self._most_octets or len(self._held) + len(self._said) > _MOST:
            oldest = self._held.popleft() if self._held else self._said.popleft()[1]
            self._octets -= len(oldest.body)
