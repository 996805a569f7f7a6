"""Which contents are in the application's hands, and what is to be said of those that are not any more? No I/O.

The application says in any order what becomes of contents, and none waits for another. What it has accepted is said by
one Confirm, as far as nothing before it is still in hand, and each by itself beyond (MTL, Content Confirmation). What
it gave back or rejected is said first: a Confirm that covers several covers only what is not settled yet.
"""

from __future__ import annotations

from fmqbus.errors import PeerError
from fmqbus.model import Outcome
from fmqbus.protocols.mtl.commands import Confirm, Reject


class InHand:
    """Those of one flow, by their sequences."""

    __slots__ = ("_accepted", "_is_in_order", "_last", "_rejects", "_unsettled")

    def __init__(self) -> None:
        #: In the order in which they came.
        self._unsettled: dict[int, None] = {}
        self._accepted: list[int] = []
        self._rejects: list[Reject] = []
        self._last = 0
        #: Their sequences rise, as they should (reading 44). If not, nothing is said of several at once.
        self._is_in_order = True

    def __len__(self) -> int:
        """How many there are."""
        return len(self._unsettled)

    def came(self, sequence: int) -> None:
        """One more. Raises `PeerError` if there is one with this sequence already."""
        if sequence in self._unsettled:
            raise PeerError(f"content {sequence} twice", "sequence")
        if sequence <= self._last:
            self._is_in_order = False
        self._last = sequence
        self._unsettled[sequence] = None

    def settle(self, sequence: int, outcome: Outcome) -> bool:
        """It is in hand no more. Returns whether it was, until now."""
        if sequence not in self._unsettled:
            return False
        del self._unsettled[sequence]
        if outcome is Outcome.ACCEPT:
            self._accepted.append(sequence)
        else:
            self._rejects.append(Reject(sequence, recycle=outcome is Outcome.RELEASE))
        return True

    def release_all(self) -> None:
        """None of them will be worked on. The last that came goes back first, so that the first is before it again."""
        for sequence in reversed(list(self._unsettled)):
            self.settle(sequence, Outcome.RELEASE)

    def take_all(self) -> None:
        """Nobody will settle them, and nothing is said: the flow is gone."""
        self._unsettled.clear()
        self._accepted.clear()
        self._rejects.clear()

    def to_say(self) -> list[Confirm | Reject]:
        """Take what is to be said of those that have left."""
        said: list[Confirm | Reject] = [*self._rejects]
        if self._accepted:
            said += self._confirms(sorted(self._accepted))
        self._rejects.clear()
        self._accepted.clear()
        return said

    def _confirms(self, accepted: list[int]) -> list[Confirm]:
        if not self._is_in_order or len(accepted) == 1:
            return list(map(Confirm, accepted))
        first = next(iter(self._unsettled), accepted[-1] + 1)
        covered = [sequence for sequence in accepted if sequence < first]
        confirms = [Confirm(covered[-1], multiple=len(covered) > 1)] if covered else []
        return [*confirms, *map(Confirm, accepted[len(covered) :])]
