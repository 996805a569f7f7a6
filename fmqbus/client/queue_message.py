"""A message of a queue in the hands of the application, which has to say what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from fmqbus.model import Outcome

#: What is called with the verdict, and the reason for it.
Settle = Callable[[Outcome, str], object]


@attrs.frozen(slots=True, eq=False)
class Delivery:
    """One delivery, of a protocol whose only word for it is that it is done. Words on it after its consumer has ended
    or the connection has gone are ignored, and so are further ones."""

    queue: str
    payload: bytes
    properties: Mapping[str, str]
    #: It may have been handed out before, to this consumer or to another.
    is_redelivered: bool
    #: How often it was handed out, this time included; at least, where the bus does not know for sure.
    deliveries: int
    _settle: Settle = attrs.field(repr=False)

    @property
    def octets(self) -> int:
        """What it takes in a queue."""
        return len(self.payload)

    def accept(self) -> None:
        """Done: the queue forgets it."""
        self._settle(Outcome.ACCEPT, "")


@attrs.frozen(slots=True, eq=False)
class QueueMessage(Delivery):
    """One delivery, of which anything can be said."""

    def release(self) -> None:
        """Not done: it goes back to the front of the queue, and comes again, perhaps to another."""
        self._settle(Outcome.RELEASE, "")

    def reject(self, reason: str = "") -> None:
        """It cannot be done: it goes to the dead letters, with the reason."""
        self._settle(Outcome.REJECT, reason)
