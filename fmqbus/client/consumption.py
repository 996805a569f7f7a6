"""What of a queue is in this client's hands? (MicroMsg2; a queue is consumed by subscribing to it)

The window bounds that, so nothing is ever dropped here. When the connection goes, the server hands all of it
out again; what had come by the old one is nobody's any more then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from sys import maxsize

from fmqbus import names
from fmqbus.client.feed import Feed
from fmqbus.client.micromsg2_link import MicroMsg2Link
from fmqbus.client.queue_message import Delivery
from fmqbus.model import Outcome, readable
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.promises import Promise
from fmqbus.protocols.micromsg2.properties import REDELIVERED, to_bus


class Consumption(Feed[Delivery]):
    """The application's wish for the messages of one queue: iterate over it, or have had a callback given.

    Each message has to be accepted, in any order; until then it counts against the window. A callback that raises
    leaves its message as it is.
    """

    def __init__(
        self, queue: bytes, forget: Callable[[Consumption], None], callback: Callable[[Delivery], object] | None
    ) -> None:
        super().__init__(maxsize, maxsize, callback)
        #: Trimmed.
        self.queue = queue
        self._forget = forget
        self._unsettled: set[Promise] = set()

    @property
    def held(self) -> int:
        """How many messages have come that nobody has accepted."""
        return len(self._unsettled)

    def take(self, link: MicroMsg2Link, messages: Sequence[Received]) -> None:
        """Messages have come over this connection."""
        self.extend([self._delivery(link, message) for message in messages])

    def connection_lost(self) -> None:
        """What had come will come again."""
        self.clear()
        self._unsettled.clear()

    def stop(self) -> None:
        """Consume no more; what is not accepted goes back to the queue. May be repeated."""
        if not self.is_stopped:
            super().stop()
            self._forget(self)

    def _delivery(self, link: MicroMsg2Link, message: Received) -> Delivery:
        promise = link.expect(message)
        self._unsettled.add(promise)
        properties = readable(to_bus(message.properties, message.annotations))
        before = _count(properties.get(REDELIVERED, ""))
        return Delivery(
            names.to_text(self.queue),
            message.payload,
            properties,
            before > 0,
            before + 1,
            partial(self._settle, link, promise),
        )

    def _settle(self, link: MicroMsg2Link, promise: Promise, outcome: Outcome, reason: str) -> None:
        if promise in self._unsettled:
            self._unsettled.remove(promise)
            link.settle(promise)

    def __repr__(self) -> str:
        return f"<Consumption of {names.to_text(self.queue)}>"


def _count(said: str) -> int:
    return int(said) if said.isdecimal() and len(said) < 10 else int(bool(said))
