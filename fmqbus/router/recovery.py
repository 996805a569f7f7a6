"""Does the bus have back what its stores keep? Who must not begin before asks here."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure


class Recovery:
    """The recovery of one router. It happens once."""

    def __init__(self) -> None:
        self._is_over = False
        self._outcome: Failure | None = None
        self._waiting: list[Deferred[None]] = []

    def begin(self, work: Deferred[None]) -> None:
        """It is done when `work` fires. A failure is for those who ask; the store has logged it."""
        work.addBoth(self._tell)

    @property
    def shortfall(self) -> str | None:
        """Why not all is here, in words; None if it is."""
        if not self._is_over:
            return "what the stores keep is not yet back"
        return None if self._outcome is None else self._outcome.getErrorMessage()

    def when_over(self) -> Deferred[None]:
        """A new Deferred for each caller; fires or fails as the work does."""
        waiting: Deferred[None] = Deferred()
        if self._is_over:
            waiting.callback(self._outcome)  # a Failure goes the errbacks' way
        else:
            self._waiting.append(waiting)
        return waiting

    def _tell(self, outcome: Failure | None) -> None:
        self._is_over = True
        self._outcome = outcome
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(outcome)
