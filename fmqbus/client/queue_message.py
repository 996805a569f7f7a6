"""A message of a queue in the hands of the application, which has to say what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from fmqbus.model import Outcome

#: What is called with the verdict, and the reason for it.
Settle = Callable[[Outcome, str], object]


@attrs.frozen(slots=True, eq=False)
class QueueMessage:
    """One delivery. Settle it once: further words on it, or those after its consumer has ended, are ignored."""

    queue: str
    payload: bytes
    properties: Mapping[str, str]
    #: It may have been handed out before, to this consumer or to another.
    is_redelivered: bool
    #: How often it was handed out, this time included.
    deliveries: int
    _settle: Settle = attrs.field(repr=False)

    def accept(self) -> None:
        """Done: the queue forgets it."""
        self._settle(Outcome.ACCEPT, "")

    def release(self) -> None:
        """Not done: it goes back to the front of the queue, and comes again, perhaps to another."""
        self._settle(Outcome.RELEASE, "")

    def reject(self, reason: str = "") -> None:
        """It cannot be done: it goes to the dead letters, with the reason."""
        self._settle(Outcome.REJECT, reason)
